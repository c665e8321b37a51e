// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certs_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fairlead-dev/fairlead/certs/injection"
	"github.com/fairlead-dev/fairlead/certs/trust"
)

var (
	getOptions = metav1.GetOptions{}
	errDead    = errors.New("the process has ended")
	secretKind = corev1.Resource("secrets")

	targetKinds = map[schema.GroupResource]string{
		{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}:               "crd",
		{Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"}:   "mutating",
		{Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations"}: "validating",
	}
)

// apiServer has Secrets and three targets, writes against a resourceVersion, and watches.
type apiServer struct {
	mu          sync.Mutex // guards what follows
	version     int
	secrets     map[string]*corev1.Secret
	targets     map[string]*unstructured.Unstructured
	certificate *unstructured.Unstructured
	watchers    map[string][]*watch.FakeWatcher // of a Secret or a target
	refused     map[string]bool                 // targets whose writes are refused
	unreadable  bool                            // the trust Secret
}

func newAPIServer() *apiServer {
	s := &apiServer{
		secrets: map[string]*corev1.Secret{}, targets: map[string]*unstructured.Unstructured{},
		watchers: map[string][]*watch.FakeWatcher{}, refused: map[string]bool{},
	}
	for resource, kind := range targetKinds {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetAPIVersion(resource.Group + "/v1")
		object.SetName(kind)
		object.SetUID(types.UID(kind))
		setBundle(object, nil)
		s.storeTarget(object)
	}
	return s
}

func (s *apiServer) next() string {
	s.version++
	return strconv.Itoa(s.version)
}

func (s *apiServer) notify(name string, object runtime.Object) {
	for _, one := range s.watchers[name] {
		if !one.IsStopped() {
			one.Modify(object)
		}
	}
}

func (s *apiServer) watch(name string) watch.Interface {
	s.mu.Lock()
	defer s.mu.Unlock()
	made := watch.NewFakeWithChanSize(10000, false)
	s.watchers[name] = append(s.watchers[name], made)
	return made
}

func (s *apiServer) storeTarget(object *unstructured.Unstructured) {
	object.SetResourceVersion(s.next())
	s.targets[object.GetName()] = object
	s.notify(object.GetName(), object.DeepCopy())
}

// setBundle writes a bundle into a target, as the injector does.
func setBundle(object *unstructured.Unstructured, bundle []byte) {
	config := map[string]any{"caBundle": base64.StdEncoding.EncodeToString(bundle)}
	fields := `{"f:webhooks":{"k:{\"name\":\"one\"}":{"f:clientConfig":{"f:caBundle":{}}}}}`
	if object.GetName() == "crd" {
		object.Object["spec"] = map[string]any{"conversion": map[string]any{"strategy": "Webhook", "webhook": map[string]any{"clientConfig": config}}}
		fields = `{"f:spec":{"f:conversion":{"f:webhook":{"f:clientConfig":{"f:caBundle":{}}}}}}`
	} else {
		object.Object["webhooks"] = []any{map[string]any{"name": "one", "clientConfig": config}}
	}
	object.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: injection.FieldOwner, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(fields),
	}})
}

func bundleIn(object *unstructured.Unstructured) []byte {
	encoded, found, _ := unstructured.NestedString(object.Object, "spec", "conversion", "webhook", "clientConfig", "caBundle")
	if hooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks"); !found && len(hooks) > 0 {
		encoded, _, _ = unstructured.NestedString(hooks[0].(map[string]any), "clientConfig", "caBundle")
	}
	bundle, _ := base64.StdEncoding.DecodeString(encoded)
	return bundle
}

// published are the bundles of the targets by their names.
func (s *apiServer) published() map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string][]byte{}
	for name, object := range s.targets {
		found[name] = bundleIn(object)
	}
	return found
}

// The steps of a history.

func (s *apiServer) setSecret(name string, data map[string][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.storeSecret(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data})
}

func (s *apiServer) changeSecret(name string, change func(*corev1.Secret)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if secret := s.secrets[name]; secret != nil {
		changed := secret.DeepCopy()
		if changed.Annotations == nil {
			changed.Annotations = map[string]string{}
		}
		change(changed)
		s.storeSecret(changed)
	}
}

func (s *apiServer) removeSecret(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.secrets, name)
	s.notify(name, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

func (s *apiServer) storeSecret(secret *corev1.Secret) *corev1.Secret {
	stored := secret.DeepCopy()
	stored.ResourceVersion = s.next()
	s.secrets[stored.Name] = stored
	s.notify(stored.Name, stored.DeepCopy())
	return stored.DeepCopy()
}

func (s *apiServer) refuseWrites(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[kind] = true
}

func (s *apiServer) refuseReads() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unreadable = true
}

func (s *apiServer) allowAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.refused)
	s.unreadable = false
}

func (s *apiServer) setCertificate(t *testing.T, spec certmanagerv1.CertificateSpec) {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&certmanagerv1.Certificate{ObjectMeta: metav1.ObjectMeta{Name: "fairlead-webhook"}, Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	s.certificate = &unstructured.Unstructured{Object: content}
}

// The clients of one replica, whose process may end after any write.

func (s *apiServer) clients(r *replica) (kubernetes.Interface, dynamic.Interface) {
	return kube{server: s, replica: r}, untyped{server: s, replica: r}
}

func (s *apiServer) dynamicOf(r *replica) dynamic.Interface { return untyped{server: s, replica: r} }

func (s *apiServer) do(r *replica, write bool, do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.dead.Load() {
		return errDead
	}
	err := do()
	if write && err == nil && r.writes.Load() > 0 && r.writes.Add(-1) == 0 {
		r.dead.Store(true)
		r.cancel()
		return errDead
	}
	return err
}

type kube struct {
	kubernetes.Interface
	server  *apiServer
	replica *replica
}

type core struct {
	corev1client.CoreV1Interface
	kube
}

type secrets struct {
	corev1client.SecretInterface
	kube
}

func (k kube) CoreV1() corev1client.CoreV1Interface        { return core{kube: k} }
func (c core) Secrets(string) corev1client.SecretInterface { return secrets{kube: c.kube} }

func (c secrets) Get(_ context.Context, name string, _ metav1.GetOptions) (found *corev1.Secret, err error) {
	err = c.server.do(c.replica, false, func() error {
		if name == trust.SecretName && c.server.unreadable {
			return apierrors.NewInternalError(errors.New("unreadable"))
		}
		if c.server.secrets[name] == nil {
			return apierrors.NewNotFound(secretKind, name)
		}
		found = c.server.secrets[name].DeepCopy()
		return nil
	})
	return found, err
}

func (c secrets) Create(_ context.Context, secret *corev1.Secret, _ metav1.CreateOptions) (made *corev1.Secret, err error) {
	err = c.server.do(c.replica, true, func() error {
		if c.server.secrets[secret.Name] != nil {
			return apierrors.NewAlreadyExists(secretKind, secret.Name)
		}
		made = c.server.storeSecret(secret)
		return nil
	})
	return made, err
}

func (c secrets) Update(_ context.Context, secret *corev1.Secret, _ metav1.UpdateOptions) (made *corev1.Secret, err error) {
	err = c.server.do(c.replica, true, func() error {
		stored := c.server.secrets[secret.Name]
		if stored == nil {
			return apierrors.NewNotFound(secretKind, secret.Name)
		}
		if stored.ResourceVersion != secret.ResourceVersion {
			return apierrors.NewConflict(secretKind, secret.Name, errors.New("changed"))
		}
		made = c.server.storeSecret(secret)
		return nil
	})
	return made, err
}

func (c secrets) Watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return c.server.watch(strings.TrimPrefix(options.FieldSelector, "metadata.name=")), nil
}

type untyped struct {
	dynamic.Interface
	server  *apiServer
	replica *replica
}

type resource struct {
	dynamic.NamespaceableResourceInterface
	untyped
	kind string // of a target; else it is the Certificate
}

func (u untyped) Resource(of schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return resource{untyped: u, kind: targetKinds[of.GroupResource()]}
}

func (r resource) Namespace(string) dynamic.ResourceInterface { return r }

func (r resource) Get(_ context.Context, _ string, _ metav1.GetOptions, _ ...string) (found *unstructured.Unstructured, err error) {
	err = r.server.do(r.replica, false, func() error {
		if found = r.server.certificate; r.kind != "" {
			found = r.server.targets[r.kind]
		}
		found = found.DeepCopy()
		return nil
	})
	return found, err
}

func (r resource) Patch(_ context.Context, _ string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*unstructured.Unstructured, error) {
	return nil, r.server.do(r.replica, true, func() error {
		applied := &unstructured.Unstructured{}
		if err := json.Unmarshal(data, &applied.Object); err != nil {
			return err
		}
		stored := r.server.targets[r.kind]
		group := schema.GroupResource{Resource: r.kind}
		switch {
		case r.server.refused[r.kind]:
			return apierrors.NewForbidden(group, r.kind, errors.New("refused"))
		case applied.GetResourceVersion() != stored.GetResourceVersion():
			return apierrors.NewConflict(group, r.kind, errors.New("changed"))
		}
		changed := stored.DeepCopy()
		setBundle(changed, bundleIn(applied))
		r.server.storeTarget(changed)
		return nil
	})
}

func (r resource) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return r.server.watch(r.kind), nil
}
