// node-config-check loads machine configs with the node OS's own loader and validates them for bare metal.
//
// Usage: node-config-check FILE... ; prints one line a file, exits 1 when any of them would be refused by a node.
package main

import (
	"fmt"
	"os"

	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/validation"
)

// metal is the mode of a node on bare metal: it installs to a disk.
type metal struct{}

func (metal) String() string        { return "metal" }
func (metal) RequiresInstall() bool { return true }
func (metal) InContainer() bool     { return false }

func check(path string) error {
	config, err := configloader.NewFromFile(path)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}

	warnings, err := config.Validate(metal{}, validation.WithStrict())
	if err != nil {
		return fmt.Errorf("validate: %w", err)
	}

	for _, warning := range warnings {
		return fmt.Errorf("warning: %s", warning)
	}

	fmt.Printf("ok %s %s\n", path, config.Machine().Type())

	return nil
}

func main() {
	failed := false

	for _, path := range os.Args[1:] {
		if err := check(path); err != nil {
			fmt.Printf("refused %s: %v\n", path, err)

			failed = true
		}
	}

	if failed {
		os.Exit(1)
	}
}
