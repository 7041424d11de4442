// Fairlead schedules containers for a whole cluster at once. This command
// simulates it.
package main

import (
	"os"

	"fairlead.dev/fairlead/cli"
)

func main() { os.Exit(cli.Main()) }
