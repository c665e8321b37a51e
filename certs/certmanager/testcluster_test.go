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

	"github.com/fairlead-dev/fairlead/certs"
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

func (w *testCluster) installed() bool { return len(w.kube.Resources) > 0 }

func (w *testCluster) install() {
	w.kube.Resources = []*metav1.APIResourceList{{GroupVersion: certmanagerv1.SchemeGroupVersion.String()}}
}

func (w *testCluster) uninstall() { w.kube.Resources = nil }

func (w *testCluster) source(change ...func(*Options)) *Source {
	w.Helper()
	options := Options{Client: w.kube, Dynamic: w.dynamic, OnChange: func() { w.changes.Add(1) }, Observe: w.observe}
	for _, one := range change {
		one(&options)
	}
	source, err := New(options)
	w.must(err)
	return source
}

// observe is what an injector finds in the targets, which all carry the same.
func (w *testCluster) observe(_ context.Context, bundle []byte) error {
	carried := w.targetBundle.Load()
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

func (w *testCluster) setTargetBundle(bundle []byte) { w.targetBundle.Store(&bundle) }

func (w *testCluster) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// fill puts content into the serving Secret, as cert-manager does.
func (w *testCluster) fill(data map[string][]byte) {
	w.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "fairlead-webhook-tls"}, Data: data}
	secrets := w.kube.CoreV1().Secrets(namespace)
	_, err := secrets.Create(w.Context(), secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = secrets.Update(w.Context(), secret, metav1.UpdateOptions{})
	}
	w.must(err)
}

// put makes an object of cert-manager as another owner does.
func (w *testCluster) put(kind kind, name string, spec, status map[string]any) {
	w.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec, "status": status}}
	object.SetAPIVersion(kind.resource.GroupVersion().String())
	object.SetKind(kind.name)
	object.SetNamespace(namespace)
	object.SetName(name)
	w.must(w.dynamic.Tracker().Create(kind.resource, object, namespace))
}

// writes are the writes to anything so far, as verb resource/name.
func (w *testCluster) writes() []string {
	var all []string
	for _, action := range slices.Concat(w.kube.Actions(), w.dynamic.Actions()) {
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
func (w *testCluster) run(source *Source) {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() { ended <- source.Run(ctx) }()
	w.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("Run: %v", err)
		}
	})
}

// pass lets time go by. In a bubble of testing/synctest that takes none.
func pass(d time.Duration) { <-time.After(d) }
