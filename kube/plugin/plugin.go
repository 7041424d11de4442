// Package plugin is kubectl fairlead: the commands of fairlead about a cluster, of the cluster that kubectl talks to. It lists
// that cluster, which only reads, and hands the list to the same code that reads a file.
package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/kube/dump"
)

// How fast the cluster is listed: as kubectl does.
const (
	queriesPerSecond = 50
	burst            = 300
)

// ownCluster are the commands that take a cluster, and are given this one unless another is named.
func ownCluster() []string { return []string{"plan", "advise", "explain", "simulate"} }

// access says which cluster it is, as kubectl's flags do.
type access struct{ kubeconfig, context string }

// Main runs the words of a command line and returns its exit code.
func Main(words []string, stdout, stderr io.Writer) int {
	words, of, err := take(words)
	if err != nil {
		fmt.Fprintln(stderr, "kubectl fairlead:", err)
		return 2
	}
	if !needsCluster(words) {
		return cli.Run(words, stdout, stderr)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	file, err := of.list(ctx, stderr)
	if file != "" {
		defer os.Remove(file) //nolint:errcheck // it is in the folder of temporary files
	}
	switch {
	case err != nil && ctx.Err() != nil:
		fmt.Fprintln(stderr, "kubectl fairlead: interrupted")
		return 130
	case err != nil:
		fmt.Fprintln(stderr, "kubectl fairlead:", err)
		return 1
	}
	stop()
	return cli.Run(append(words, "--cluster", "kubernetes:"+file), stdout, stderr)
}

// take takes the flags of kubectl off the words.
func take(words []string) (left []string, of access, err error) {
	for i := 0; i < len(words); i++ {
		name, value, joined := strings.Cut(words[i], "=")
		to := map[string]*string{"--kubeconfig": &of.kubeconfig, "--context": &of.context}[name]
		if to == nil {
			left = append(left, words[i])
			continue
		}
		if !joined {
			if i++; i == len(words) {
				return nil, of, fmt.Errorf("%s: want a value behind it", name)
			}
			value = words[i]
		}
		if value == "" {
			return nil, of, fmt.Errorf("%s: its value is empty", name)
		}
		*to = value
	}
	return left, of, nil
}

// needsCluster reports whether the words ask about a cluster and name none.
func needsCluster(words []string) bool {
	named := func(word string) bool {
		for _, flag := range []string{"--cluster", "--workload", "--spec", "--help", "-h"} {
			if word == flag || strings.HasPrefix(word, flag+"=") {
				return true
			}
		}
		return false
	}
	return len(words) > 0 && slices.Contains(ownCluster(), words[0]) && !slices.ContainsFunc(words, named)
}

// list lists the cluster into a file.
func (a access) list(ctx context.Context, stderr io.Writer) (file string, err error) {
	config, err := a.config()
	if err != nil {
		return "", err
	}
	config.QPS, config.Burst = queriesPerSecond, burst
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return "", err
	}
	to, err := os.CreateTemp("", "fairlead-*.json")
	if err != nil {
		return "", err
	}
	notes, err := dump.Write(ctx, client, to)
	for _, note := range notes {
		fmt.Fprintln(stderr, "kubectl fairlead:", note)
	}
	return to.Name(), errors.Join(err, to.Close())
}

// config is how to talk to the cluster, by kubectl's rules.
func (a access) config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: a.context}).ClientConfig()
}
