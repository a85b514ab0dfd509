// Client does what other tools do with KubeVirt's own client library, from a command line, so that a test can drive it.
//
// kubevirt.io/client-go is taken as it is published: if it works with this, so does what is made with it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	k8sv1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"
	v1 "kubevirt.io/api/core/v1"
	"kubevirt.io/client-go/kubecli"
	kvcorev1 "kubevirt.io/client-go/kubevirt/typed/core/v1"
)

const usage = `usage: client [-n NAMESPACE] VERB NAME [PORT]
  start, stop, restart           a VirtualMachine
  pause, unpause, softreboot     a VirtualMachineInstance
  console, portforward PORT      standard input and output become the stream
  guestosinfo, phase, printable  print what the library reads
  informer                       tells what becomes of a VirtualMachine, a line for each change, until it is gone
`

func main() {
	namespace := flag.String("n", "default", "namespace of the machine")
	flag.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	flag.Parse()
	if flag.NArg() < 2 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*namespace, flag.Arg(0), flag.Arg(1), flag.Args()[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func run(namespace, verb, name string, rest []string) error {
	client, err := kubecli.GetKubevirtClientFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	ctx := context.Background()
	machine, instance := client.VirtualMachine(namespace), client.VirtualMachineInstance(namespace)
	switch verb {
	case "start":
		return machine.Start(ctx, name, &v1.StartOptions{})
	case "stop":
		return machine.Stop(ctx, name, &v1.StopOptions{})
	case "restart":
		return machine.Restart(ctx, name, &v1.RestartOptions{})
	case "pause":
		return instance.Pause(ctx, name, &v1.PauseOptions{})
	case "unpause":
		return instance.Unpause(ctx, name, &v1.UnpauseOptions{})
	case "softreboot":
		return instance.SoftReboot(ctx, name)
	case "console":
		stream, err := instance.SerialConsole(name, &kvcorev1.SerialConsoleOptions{ConnectionTimeout: 30 * time.Second})
		if err != nil {
			return err
		}
		return stream.Stream(kvcorev1.StreamOptions{In: os.Stdin, Out: os.Stdout})
	case "portforward":
		if len(rest) != 1 {
			return errors.New("portforward takes a port")
		}
		port, err := strconv.Atoi(rest[0])
		if err != nil {
			return err
		}
		stream, err := instance.PortForward(name, port, "tcp")
		if err != nil {
			return err
		}
		connection := stream.AsConn()
		defer connection.Close()
		go func() { _, _ = io.Copy(connection, os.Stdin) }()
		_, err = io.Copy(os.Stdout, connection)
		return err
	case "guestosinfo":
		info, err := instance.GuestOsInfo(ctx, name)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(info)
	case "phase":
		vmi, err := instance.Get(ctx, name, k8sv1.GetOptions{})
		if err != nil {
			return err
		}
		fmt.Println(vmi.Status.Phase)
		return nil
	case "printable":
		vm, err := machine.Get(ctx, name, k8sv1.GetOptions{})
		if err != nil {
			return err
		}
		fmt.Println(vm.Status.PrintableStatus)
		return nil
	case "informer":
		return inform(client, namespace, name)
	}
	return fmt.Errorf("there is no verb %q\n%s", verb, usage)
}

// inform follows a machine as controllers do that are made with the library: by a cache that lists and watches.
func inform(client kubecli.KubevirtClient, namespace, name string) error {
	gone := make(chan struct{})
	tell := func(what string) func(any) {
		return func(object any) {
			if vm, ok := object.(*v1.VirtualMachine); ok {
				fmt.Println(what, vm.Name, vm.Status.PrintableStatus, vm.ResourceVersion)
			}
		}
	}
	source := cache.NewListWatchFromClient(client.RestClient(), "virtualmachines", namespace, fields.OneTermEqualSelector("metadata.name", name))
	informer := cache.NewSharedInformer(source, &v1.VirtualMachine{}, 0)
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    tell("added"),
		UpdateFunc: func(_, object any) { tell("changed")(object) },
		DeleteFunc: func(object any) { tell("deleted")(object); close(gone) },
	})
	if err != nil {
		return err
	}
	informer.Run(gone)
	return nil
}
