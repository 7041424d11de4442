package app

import (
	"errors"
	"fmt"
	"net/http"
	"os"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/fairlead/kube/config"
)

// connect says how to reach the API server.
func connect(c config.ClientConnection) (*rest.Config, error) {
	var to *rest.Config
	var err error
	if c.Kubeconfig == "" {
		to, err = rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, usageError{errors.New("this is not a pod of a cluster, so say how to reach the API server: --kubeconfig FILE")}
		}
	} else {
		to, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot tell how to reach the API server: %w", err)
	}
	to.QPS, to.Burst = c.QPS, int(c.Burst)
	to.ContentType, to.AcceptContentTypes = c.ContentType, c.AcceptContentTypes
	// The API server is near, and compressing costs it more than it saves.
	to.DisableCompression = true
	shared := &outages{} // by all clients
	to.Wrap(func(next http.RoundTripper) http.RoundTripper { return retryReads{noRepeat{next}, shared} })
	return rest.AddUserAgent(to, "fairlead-scheduler"), nil
}

// newIdentity tells this process from all others, also from one before it on
// the same host.
func newIdentity() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("this host has no name by which replicas could tell each other apart: %w", err)
	}
	return host + "_" + string(uuid.NewUUID()), nil
}
