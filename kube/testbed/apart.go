package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"unsafe"
)

// A second real node would want the ports of the first one, as the pods of both use the network of their node, and a scheduler with two replicas
// has one port. So the second one has a network of its own: a namespace with a loopback interface and nothing else. The API server is there where it
// is everywhere, as this process listens at its address in that network, and hands on what comes to the API server in its own. A socket belongs to the network of the thread that
// opened it, whoever uses it then, so that this takes one thread that has left, by which the kubelet is started, too.

// StartKubeletApart is StartKubelet of a second node, in a network in which there is the API server and nothing else. More is what its configuration has beside what all have.
func StartKubeletApart(ctx context.Context, b *Bed, more string) (*Kubelet, error) {
	f := newForker()
	l, err := f.leaveNetwork(b.ports.apiServer)
	if err != nil {
		f.close()
		return nil, fmt.Errorf("test bed: make a network for a second node: %w", err)
	}
	go handOn(l, l.Addr().String())
	leave := func() error {
		f.close()
		return l.Close()
	}
	k := &Kubelet{Name: "second-node", suffix: "-second", more: more, bed: b, forker: f, leave: leave}
	started, err := k.start(ctx)
	if err != nil && k.dir == "" { // Close does not know of it.
		err = errors.Join(err, leave())
	}
	return started, err
}

// leaveNetwork has the thread, and all that it starts from then on, be in a network of its own, and listens there.
func (f forker) leaveNetwork(port int) (l net.Listener, err error) {
	done := make(chan struct{})
	f.calls <- func() {
		defer close(done)
		if err = syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
			return
		}
		if err = raiseLoopback(); err != nil {
			return
		}
		l, err = net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	}
	<-done
	return l, err
}

// raiseLoopback switches the loopback interface on, by which it has its address; see netdevice(7).
func raiseLoopback() error {
	s, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer syscall.Close(s) //nolint:errcheck // Nothing was sent.
	request := struct {
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}{flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	copy(request.name[:], "lo")
	if _, _, failed := syscall.Syscall(syscall.SYS_IOCTL, uintptr(s), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))); failed != 0 {
		return fmt.Errorf("switch the loopback interface on: %w", failed)
	}
	return nil
}

// handOn hands all connections on to the same address in the network of this process, until nobody listens any more.
func handOn(l net.Listener, address string) {
	for {
		from, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer from.Close()                   //nolint:errcheck // Whoever is at its end sees it.
			to, err := net.Dial("tcp4", address) //nolint:noctx // It is on the loopback interface.
			if err != nil {
				return
			}
			defer to.Close() //nolint:errcheck // As above.
			ended := make(chan struct{}, 2)
			for _, ends := range [][2]net.Conn{{from, to}, {to, from}} {
				go func() {
					_, _ = io.Copy(ends[0], ends[1]) // Whatever ended it, both are closed.
					ended <- struct{}{}
				}()
			}
			<-ended
		}()
	}
}
