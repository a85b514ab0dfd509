// Codec decodes and encodes VirtualMachines with KubeVirt's own types, so that ours can be compared with them in one
// run: the file has a JSON document a line; the answer is a line of JSON with how many a second one core does.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"

	v1 "kubevirt.io/api/core/v1"
)

const span = 3 * time.Second

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: codec FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "codec:", err)
		os.Exit(1)
	}
}

func run(file string) error {
	// one core, like the other side
	runtime.GOMAXPROCS(1)
	documents, err := read(file)
	if err != nil {
		return err
	}
	begin, count := time.Now(), 0
	for time.Since(begin) < span {
		for _, document := range documents {
			var machine v1.VirtualMachine
			if err := json.Unmarshal(document, &machine); err != nil {
				return fmt.Errorf("decode: %w", err)
			}
			if _, err := json.Marshal(&machine); err != nil {
				return fmt.Errorf("encode: %w", err)
			}
			count++
		}
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"perSecond": float64(count) / time.Since(begin).Seconds()})
}

func read(file string) ([][]byte, error) {
	open, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer open.Close()
	var documents [][]byte
	lines := bufio.NewScanner(open)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		documents = append(documents, append([]byte(nil), lines.Bytes()...))
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(documents) == 0 {
		return nil, fmt.Errorf("%s has no document", file)
	}
	return documents, nil
}
