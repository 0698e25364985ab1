// Conjunct decides whether an AI agent's tool call may run.
package main

import (
	"os"
	"runtime"

	"github.com/conjunct-project/conjunct/cli"
)

func main() {
	if os.Getenv("GOMAXPROCS") == "" {
		// One thread waits for the disk most of the time: the cores are for the
		// others.
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
	os.Exit(cli.Main(cli.System()))
}
