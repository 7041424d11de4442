package testbed

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// User is an identity that the API server of a bed knows by its token.
type User string

// The users of a bed. Kubernetes' own ones have the roles that it gives them.
const (
	Admin             User = "admin"              // may do everything
	KubeScheduler     User = "kube-scheduler"     // upstream's scheduler
	ControllerManager User = "controller-manager" // upstream's controllers
	Kwok              User = "kwok"               // may do everything, as kwok's manual asks for
	KubeletUser       User = "kubelet"            // may do everything: what a node may do is not the bed's subject
	Karpenter         User = "karpenter"          // may do everything: what an autoscaler may do is not the bed's subject
	Fairlead          User = "fairlead"           // the service account of kube/deploy; may do nothing until a role is bound to it
	Shadow            User = "shadow"             // that of kube/deploy/shadow, in the same way
)

// account is how the API server sees a user.
type account struct {
	user  User
	name  string // the subject of role bindings
	group string // or several, with commas between them
	token string
}

// newAccounts makes the users of one bed with fresh tokens.
func newAccounts() map[User]account {
	accounts := map[User]account{}
	for _, a := range []account{
		{user: Admin, name: "admin", group: "system:masters"},
		{user: KubeScheduler, name: "system:kube-scheduler"},
		{user: ControllerManager, name: "system:kube-controller-manager"},
		{user: Kwok, name: "kwok", group: "system:masters"},
		{user: Karpenter, name: "karpenter", group: "system:masters"},
		{user: KubeletUser, name: "system:node:real-node", group: "system:masters"},
		// As the service account of its manifests, so that the API server gives
		// it the share of its time that it would have in a real cluster.
		{
			user: Fairlead, name: "system:serviceaccount:kube-system:fairlead-scheduler",
			group: "system:serviceaccounts,system:serviceaccounts:kube-system",
		},
		{
			user: Shadow, name: "system:serviceaccount:kube-system:fairlead-shadow",
			group: "system:serviceaccounts,system:serviceaccounts:kube-system",
		},
	} {
		a.token = rand.Text()
		accounts[a.user] = a
	}
	return accounts
}

// writeTokens writes what --token-auth-file reads.
func writeTokens(path string, accounts map[User]account) error {
	var text strings.Builder
	for _, a := range accounts {
		fmt.Fprintf(&text, "%s,%s,%s,%q\n", a.token, a.name, a.user, a.group)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		return fmt.Errorf("test bed: write the tokens: %w", err)
	}
	return nil
}

// writeServiceAccountKey writes the key that signs the tokens of service
// accounts. The API server reads its public half from the same file.
func writeServiceAccountKey(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("test bed: make the key of service accounts: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("test bed: encode the key of service accounts: %w", err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("test bed: write the key of service accounts: %w", err)
	}
	return nil
}

// Config returns a client configuration for a user: protocol buffers where the
// API has them, and no rate limit, because limits are the subject of
// measurements and not their accident.
func (b *Bed) Config(user User) *rest.Config {
	return &rest.Config{
		Host:            b.server(),
		BearerToken:     b.account(user).token,
		TLSClientConfig: rest.TLSClientConfig{CAFile: b.certificate()},
		UserAgent:       "fairlead-testbed/" + string(user),
		QPS:             -1,
		ContentConfig: rest.ContentConfig{
			ContentType:        runtime.ContentTypeProtobuf,
			AcceptContentTypes: runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON,
		},
	}
}

// Client returns a client for a user.
func (b *Bed) Client(user User) (*kubernetes.Clientset, error) {
	client, err := kubernetes.NewForConfig(b.Config(user))
	if err != nil {
		return nil, fmt.Errorf("test bed: make a client of its API server for %s: %w", user, err)
	}
	return client, nil
}

// Kubeconfig returns the path of a kubeconfig file for a user.
func (b *Bed) Kubeconfig(user User) string {
	return filepath.Join(b.dir, string(b.account(user).user)+".kubeconfig")
}

// account panics for a user that does not exist: that is a mistake in the
// calling program.
func (b *Bed) account(user User) account {
	a, ok := b.accounts[user]
	if !ok {
		panic(fmt.Sprintf("test bed: there is no user %q; the constants of type User list them", user))
	}
	return a
}

func (b *Bed) writeKubeconfigs() error {
	for user, a := range b.accounts {
		config := api.NewConfig()
		config.Clusters["testbed"] = &api.Cluster{Server: b.server(), CertificateAuthority: b.certificate()}
		config.AuthInfos[string(user)] = &api.AuthInfo{Token: a.token}
		config.Contexts["testbed"] = &api.Context{Cluster: "testbed", AuthInfo: string(user)}
		config.CurrentContext = "testbed"
		if err := clientcmd.WriteToFile(*config, b.Kubeconfig(user)); err != nil {
			return fmt.Errorf("test bed: write the kubeconfig of %s: %w", user, err)
		}
	}
	return nil
}
