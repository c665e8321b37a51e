// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestABundleThatWasWipedIsPublishedAgainByAStart(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	r := s.start()
	r.reconciles()
	want := s.bundle(framework.Definitions[0])
	r.Stop()

	// What a user's kubectl replace of the shipped manifests does.
	for _, definition := range framework.Definitions {
		s.wipe(definition)
	}
	for _, object := range s.trusting() {
		resource := map[string]schema.GroupVersionResource{
			"MutatingWebhookConfiguration": mutating, "ValidatingWebhookConfiguration": validating,
		}[object.GetKind()]
		if resource.Empty() {
			continue
		}
		hooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
		s.Must(err)
		for _, hook := range hooks {
			unstructured.RemoveNestedField(hook.(map[string]any), "clientConfig", "caBundle")
		}
		s.patch(resource, object.GetName(), map[string]any{"webhooks": hooks})
	}
	for _, object := range s.trusting() {
		for path, bundle := range s.bundles(object.Object, object.GetName(), map[string][]byte{}) {
			if len(bundle) > 0 {
				t.Fatalf("%s was not wiped", path)
			}
		}
	}

	s.Must(r.Start(t.Context()))
	r.reaches("ca-published", "done")
	for _, object := range s.trusting() {
		for path, bundle := range s.bundles(object.Object, object.GetName(), map[string][]byte{}) {
			if !bytes.Equal(bundle, want) {
				t.Errorf("%s was not healed", path)
			}
		}
		s.ownsBundlesAlone(object)
	}
	namespace := s.NewNamespace()
	s.create(namespace, "one")
}

func TestNoLogHoldsTheRootsKey(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	r := s.start("--log-level=7")
	r.reconciles()
	found, err := keyMaterial(logsOf(s.Cluster), s.secret().Data["tls.key"])
	s.Must(err)
	for _, problem := range found {
		t.Error(problem)
	}
}

func TestReplicasThatStartAtTheSameInstantShareOneRoot(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	former := map[string]bool{} // stay trusted: what they have signed may still be served
	for _, object := range s.trusting() {
		for _, bundle := range s.bundles(object.Object, object.GetName(), map[string][]byte{}) {
			for _, root := range s.certificates(bundle) {
				former[root.SerialNumber.String()] = true
			}
		}
	}
	s.Must(s.Kube.CoreV1().Secrets(framework.Namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{
		FieldSelector: "metadata.name=" + rootSecret,
	}))
	var starting sync.WaitGroup
	started := make([]*framework.Replica, 3)
	errs := make([]error, 3)
	for i := range started {
		starting.Go(func() { started[i], errs[i] = s.StartReplica(t.Context(), "--set=webhook.drainDelay=0s") })
	}
	starting.Wait()
	for i, r := range started {
		if errs[i] == nil {
			t.Cleanup(func() { s.Retire(r) })
		}
	}
	for _, err := range errs {
		s.Must(err)
	}

	secret := s.secret()
	roots, made := x509.NewCertPool(), 0
	for _, root := range s.certificates(secret.Data["ca.crt"]) {
		if !former[root.SerialNumber.String()] {
			made++
			roots.AddCert(root)
		}
	}
	if made != 1 {
		t.Fatalf("the Secret trusts %d roots that were not trusted before, want one:\n%s", made, secret.Data["ca.crt"])
	}
	serials := map[string]string{}
	for _, started := range started {
		r := &replica{started, s}
		r.reaches("ca-published", "done")
		conn, err := tls.Dial("tcp", r.Webhook, &tls.Config{RootCAs: roots, ServerName: framework.ServerName})
		if err != nil {
			t.Errorf("%s does not serve a chain of the shared root: %v", r.ID, err)
			continue
		}
		serials[conn.ConnectionState().PeerCertificates[0].SerialNumber.String()] = r.ID
		s.Must(conn.Close())
	}
	if len(serials) != 3 {
		t.Errorf("%d different serving certificates on 3 replicas: %v", len(serials), serials)
	}

	places := 0
	for _, object := range s.trusting() {
		for path, bundle := range s.bundles(object.Object, object.GetName(), map[string][]byte{}) {
			places++
			if !bytes.Equal(bundle, secret.Data["ca.crt"]) {
				t.Errorf("%s carries another bundle than the Secret:\n%s", path, bundle)
			}
		}
		s.ownsBundlesAlone(object)
	}
	if places != 12 {
		t.Errorf("%d places for a bundle, want 4 CRDs and 2 webhooks for each of 4 kinds", places)
	}
}
