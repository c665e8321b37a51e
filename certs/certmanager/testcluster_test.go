// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/trust"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
)

const namespace = "fairlead-system"

// testCluster is a cluster whose cert-manager is the test, and targets that carry what the test says.
type testCluster struct {
	*testing.T
	kube         *fake.Clientset
	dynamic      *dynamicfake.FakeDynamicClient
	targetBundle atomic.Pointer[[]byte] // what every target carries; nil: targets cannot be read
	changes      atomic.Int32
}

func newTestCluster(t *testing.T) *testCluster {
	t.Helper()
	w := &testCluster{T: t, kube: fake.NewClientset()}
	kinds := map[schema.GroupVersionResource]string{certificates.resource: "CertificateList", issuers.resource: "IssuerList"}
	w.dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds)
	w.dynamic.PrependReactor("patch", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch := action.(clienttesting.PatchAction)
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal(patch.GetPatch(), &object.Object); err != nil {
			return true, nil, err
		}
		if !w.installed() {
			return true, nil, apierrors.NewNotFound(patch.GetResource().GroupResource(), patch.GetName())
		}
		err := w.dynamic.Tracker().Create(patch.GetResource(), object, namespace)
		if apierrors.IsAlreadyExists(err) {
			err = w.dynamic.Tracker().Update(patch.GetResource(), object, namespace)
		}
		return true, object, err
	})
	w.install()
	return w
}

func (t *testCluster) installed() bool { return len(t.kube.Resources) > 0 }

func (t *testCluster) install() {
	t.kube.Resources = []*metav1.APIResourceList{{GroupVersion: certmanagerv1.SchemeGroupVersion.String()}}
}

func (t *testCluster) uninstall() { t.kube.Resources = nil }

func (t *testCluster) source(change ...func(*Options)) *Source {
	t.Helper()
	options := Options{Client: t.kube, Dynamic: t.dynamic, OnChange: func() { t.changes.Add(1) }, Targets: trust.Targets{Observe: t.observe}}
	for _, one := range change {
		one(&options)
	}
	source, err := New(options)
	t.must(err)
	return source
}

// observe returns an injector's observation of the targets, which all carry the same bundle.
func (t *testCluster) observe(_ context.Context, bundle []byte) error {
	carried := t.targetBundle.Load()
	if carried == nil {
		return errors.New("targets cannot be read")
	}
	wanted, err := pemfile.ParseCertificates(bundle)
	if err != nil {
		return err
	}
	if !certs.TrustsAll(*carried, wanted) {
		return fmt.Errorf("targets: %w: %w", certs.ErrTrustedNowhere, certs.ErrBundleMissing)
	}
	return nil
}

func (t *testCluster) setTargetBundle(bundle []byte) { t.targetBundle.Store(&bundle) }

func (t *testCluster) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newTrustSecret is the Secret with the trusted authorities, without content.
func newTrustSecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: trust.SecretName, Labels: map[string]string{common.ManagedByLabel: common.ManagedBy},
	}}
}

// fill puts content into the serving Secret, as cert-manager does.
func (t *testCluster) fill(data map[string][]byte) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "fairlead-webhook-tls"}, Data: data}
	secrets := t.kube.CoreV1().Secrets(namespace)
	_, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
	}
	t.must(err)
}

// put makes an object of cert-manager as another owner does.
func (t *testCluster) put(kind kind, name string, spec, status map[string]any) {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec, "status": status}}
	object.SetAPIVersion(kind.resource.GroupVersion().String())
	object.SetKind(kind.name)
	object.SetNamespace(namespace)
	object.SetName(name)
	t.must(t.dynamic.Tracker().Create(kind.resource, object, namespace))
}

// writes are the writes to anything so far, as verb resource/name.
func (t *testCluster) writes() []string {
	var all []string
	for _, action := range slices.Concat(t.kube.Actions(), t.dynamic.Actions()) {
		name := ""
		switch action := action.(type) {
		case clienttesting.PatchAction:
			name = action.GetName()
		case clienttesting.CreateAction: // and of updates, which look the same
			accessor, ok := action.GetObject().(metav1.Object)
			if ok {
				name = accessor.GetName()
			}
		}
		if verb := action.GetVerb(); verb != "get" && verb != "watch" && name != "fairlead-webhook-tls" && !strings.HasPrefix(verb, "list") {
			all = append(all, fmt.Sprintf("%s %s/%s", verb, action.GetResource().Resource, name))
		}
	}
	return all
}

// serves reports whether the source presents the certificate of the content.
func serves(source certs.Source, data map[string][]byte) bool {
	served, err := source.GetCertificate(&tls.ClientHelloInfo{})
	if err != nil {
		return false
	}
	chain, err := pemfile.ParseCertificates(data[certs.CertKey])
	return err == nil && served.Leaf.Equal(chain[0])
}

// run runs the source until the test ends.
func (t *testCluster) run(source *Source) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- source.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// pass lets time go by. In a bubble of testing/synctest that takes none.
func pass(d time.Duration) { <-time.After(d) }
