// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"context"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	clienttesting "k8s.io/client-go/testing"

	"github.com/fairlead-dev/fairlead/certs"
)

const (
	namespace = "fairlead-system"
	name      = "fairlead-webhook-ca"
)

var secretsResource = corev1.SchemeGroupVersion.WithResource("secrets")

// newCluster is a clientset that keeps resourceVersions as the API server does: every write gets
// a new one, and an update against another than the stored one is a conflict.
func newCluster(t *testing.T, objects ...runtime.Object) *fake.Clientset {
	t.Helper()
	client := fake.NewClientset()
	version := 0
	client.PrependReactor("create", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		version++
		action.(clienttesting.CreateAction).GetObject().(*corev1.Secret).ResourceVersion = strconv.Itoa(version)
		return false, nil, nil
	})
	client.PrependReactor("update", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		secret := action.(clienttesting.UpdateAction).GetObject().(*corev1.Secret)
		stored, err := client.Tracker().Get(secretsResource, secret.Namespace, secret.Name)
		if err != nil {
			return true, nil, err
		}
		if stored.(*corev1.Secret).ResourceVersion != secret.ResourceVersion {
			return true, nil, apierrors.NewConflict(secretsResource.GroupResource(), secret.Name, nil)
		}
		version++
		secret.ResourceVersion = strconv.Itoa(version)
		return false, nil, nil
	})
	for _, object := range objects {
		if _, err := client.CoreV1().Secrets(namespace).Create(context.Background(), object.(*corev1.Secret), metav1.CreateOptions{}); err != nil {
			t.Fatalf("create %T: %v", object, err)
		}
	}
	client.ClearActions()
	return client
}

// hookedClient calls a hook after each read of the Secret.
type hookedClient struct {
	kubernetes.Interface
	afterGet func(context.Context) error
}

type hookedCore struct {
	corev1client.CoreV1Interface
	afterGet func(context.Context) error
}

type hookedSecrets struct {
	corev1client.SecretInterface
	afterGet func(context.Context) error
}

func (h hookedClient) CoreV1() corev1client.CoreV1Interface {
	return hookedCore{h.Interface.CoreV1(), h.afterGet}
}

func (h hookedCore) Secrets(namespace string) corev1client.SecretInterface {
	return hookedSecrets{h.CoreV1Interface.Secrets(namespace), h.afterGet}
}

func (h hookedSecrets) Get(ctx context.Context, name string, o metav1.GetOptions) (*corev1.Secret, error) {
	secret, err := h.SecretInterface.Get(ctx, name, o)
	if hookErr := h.afterGet(ctx); hookErr != nil {
		return nil, hookErr
	}
	return secret, err
}

func writes(client *fake.Clientset) map[string]int {
	counted := map[string]int{}
	for _, action := range client.Actions() {
		if verb := action.GetVerb(); verb == "create" || verb == "update" {
			counted[verb]++
		}
	}
	return counted
}

func stored(t *testing.T, client *fake.Clientset) *corev1.Secret {
	t.Helper()
	object, err := client.Tracker().Get(secretsResource, namespace, name)
	if err != nil {
		t.Fatalf("the Secret is not there: %v", err)
	}
	return object.(*corev1.Secret)
}

func newAuthority(t *testing.T, options Options) *Authority {
	t.Helper()
	authority, err := New(options)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return authority
}

// prepared is an authority that serves.
func prepared(t *testing.T, options Options) *Authority {
	t.Helper()
	authority := newAuthority(t, options)
	if err := authority.Prepare(bounded(t)); err != nil {
		t.Fatalf("Prepare: %v", err)
	}
	return authority
}

// bounded ends where a healthy Prepare has long succeeded, so that a broken one fails its test.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// running runs the authority until the test ends.
func running(t *testing.T, authority *Authority) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- authority.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func leafOf(t *testing.T, authority *Authority) *x509.Certificate {
	t.Helper()
	served, err := authority.GetCertificate(nil)
	if err != nil {
		t.Fatalf("GetCertificate: %v", err)
	}
	return served.Leaf
}

// handshake connects a client that trusts the bundle to a server with the source's certificate.
func handshake(t *testing.T, authority *Authority, serverName string, bundle []byte) error {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	near, far := net.Pipe()
	defer func() { _ = near.Close() }()
	defer func() { _ = far.Close() }()
	server := tls.Server(far, &tls.Config{GetCertificate: authority.GetCertificate, MinVersion: tls.VersionTLS13})
	handled := make(chan struct{})
	go func() { defer close(handled); _ = server.Handshake(); _ = far.Close() }()
	err := tls.Client(near, &tls.Config{RootCAs: roots, ServerName: serverName}).Handshake()
	_ = near.Close()
	<-handled
	return err
}

// logLines is a log that a test can read.
type logLines struct {
	mu   sync.Mutex
	text []string
}

func (l *logLines) logger() logr.Logger {
	return funcr.New(func(prefix, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.text = append(l.text, args)
	}, funcr.Options{})
}

func (l *logLines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	count := 0
	for _, line := range l.text {
		if strings.Contains(line, part) {
			count++
		}
	}
	return count
}

// rootAt is a root made at a moment, and its Secret.
func rootAt(t *testing.T, now time.Time) (*root, *corev1.Secret) {
	t.Helper()
	made, err := createRoot(elliptic.P256(), now, 10*365*24*time.Hour, 5*time.Minute)
	if err != nil {
		t.Fatalf("createRoot: %v", err)
	}
	secret := newSecret(namespace, name)
	secret.Data = dataOf(t, made)
	return made, secret
}

// dataOf returns the data of a Secret with a root that signs and that alone is trusted.
func dataOf(t *testing.T, signer *root) map[string][]byte {
	t.Helper()
	certificate, key, err := signer.pair()
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{certs.CertKey: certificate, certs.PrivateKey: key, certs.CAKey: certificate}
}
