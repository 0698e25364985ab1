// Conjunct decides whether an AI agent's tool call may run.
package main

import (
	"os"

	"github.com/conjunct-project/conjunct/cli"
)

func main() { os.Exit(cli.Main(cli.System())) }
