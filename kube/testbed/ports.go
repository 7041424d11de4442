package testbed

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are taken from below those that Linux gives to outgoing connections
// (from 32768): a port must stay free from here until its server listens, and
// while the API server is down between a kill and a restart.
const lowestPort, highestPort = 20000, 32000

// ports are the ports of one bed.
type ports struct {
	etcd, etcdPeer, apiServer, controllerManager, kubeScheduler, fairlead, kwok, kubelet, karpenter int
}

func freePorts() (p ports, err error) {
	taken := map[int]bool{}
	for _, port := range []*int{&p.etcd, &p.etcdPeer, &p.apiServer, &p.controllerManager, &p.kubeScheduler, &p.fairlead, &p.kwok, &p.kubelet, &p.karpenter} {
		if *port, err = freePort(taken); err != nil {
			return ports{}, err
		}
	}
	return p, nil
}

// freePort tries ports at random, so that two beds that start at once do not
// meet on the lowest one.
func freePort(taken map[int]bool) (int, error) {
	var last error
	for range 100 {
		port := lowestPort + rand.IntN(highestPort-lowestPort) //nolint:forbidigo // What must differ from bed to bed cannot come from a seed.
		if taken[port] {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))) //nolint:noctx // It does not block.
		if err != nil {
			last = err
			continue
		}
		taken[port] = true
		return port, l.Close()
	}
	return 0, fmt.Errorf("test bed: no free port between %d and %d on 127.0.0.1: %w", lowestPort, highestPort, last)
}
