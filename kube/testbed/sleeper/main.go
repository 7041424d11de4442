// Sleeper is what containers of the test bed run, the pause containers of pods
// included: it says when it began and sleeps until it is told to end, or, with
// the argument "exit", ends at once.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	// Before the greeting, so that who has read it may end this program. The
	// first process of a container ignores signals that nobody handles.
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	// To the nanosecond: the times that Kubernetes tells are whole seconds.
	fmt.Fprintln(os.Stdout, "began", time.Now().Format(time.RFC3339Nano))
	if len(os.Args) > 1 && os.Args[1] == "exit" {
		return
	}
	<-ended
}
