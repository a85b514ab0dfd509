// Dns is CoreDNS with the plugins that a test cluster needs, and no others.
package main

import (
	"slices"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/ready"
)

func main() {
	// The order in which plugins see a query is the order of this list; a name that is not compiled in must not be in it.
	ours := []string{"ready", "errors", "loadbalance", "cache", "kubernetes"}
	dnsserver.Directives = slices.DeleteFunc(dnsserver.Directives, func(name string) bool { return !slices.Contains(ours, name) })
	coremain.Run()
}
