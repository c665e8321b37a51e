// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/injection"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
)

// simulation is an API server that handles one request at a time, when the test releases it, and several
// replicas. It runs in a bubble of testing/synctest.
type simulation struct {
	t *testing.T

	mu       sync.Mutex // guards what follows
	secret   *corev1.Secret
	version  int
	targets  map[string]*simulatedTarget
	pending  []*pendingRequest
	watchers map[*replica]*watch.FakeWatcher
	trace    []string
	began    time.Time
	links    map[string]bool // of leaves with roots, that were verified
	parsed   map[string][]*x509.Certificate

	arrived chan struct{} // a request waits

	// crash reports whether a replica crashes at a point of a request; nil for never.
	crash func(r *replica, what string) bool
}

// simulatedTarget is a target with the bundles that it has had.
type simulatedTarget struct {
	object  *unstructured.Unstructured
	history []bundleVersion
	changes int
}

type bundleVersion struct {
	bundle []byte
	until  time.Time // zero: still
}

// pendingRequest is a request that waits to be handled, or a response that waits to be delivered.
type pendingRequest struct {
	replica *replica
	what    string
	since   time.Time
	open    chan struct{}
}

var (
	errCrashed      = errors.New("the process has ended")
	errDisconnected = errors.New("connection refused")

	targetKinds = map[string]schema.GroupVersionResource{
		"crd":        {Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		"mutating":   {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
		"validating": {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
	}
)

// ownedFields are the managed fields of the injector: in a CRD, and in a webhook configuration.
var ownedFields = map[bool]string{
	true:  `{"f:spec":{"f:conversion":{"f:webhook":{"f:clientConfig":{"f:caBundle":{}}}}}}`,
	false: `{"f:webhooks":{"k:{\"name\":\"one\"}":{"f:clientConfig":{"f:caBundle":{}}}}}`,
}

// newSimulation has a root that is trusted everywhere.
func newSimulation(t *testing.T, options Options) *simulation {
	t.Helper()
	s := &simulation{
		t: t, targets: map[string]*simulatedTarget{}, watchers: map[*replica]*watch.FakeWatcher{},
		began: time.Now(), links: map[string]bool{}, parsed: map[string][]*x509.Certificate{},
		arrived: make(chan struct{}, 1),
	}
	first, err := createRoot(options.rootCurve, time.Now(), options.RootValidity, options.backdate())
	if err != nil {
		t.Fatal(err)
	}
	s.secret = newSecret(namespace, name)
	s.secret.Data = dataOf(t, first)
	s.store(s.secret)
	bundle := s.secret.Data[certs.CAKey]
	for kind, resource := range targetKinds {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetAPIVersion(resource.GroupVersion().String())
		object.SetName(kind)
		object.SetUID(types.UID(kind))
		object.SetResourceVersion("1")
		object.SetManagedFields([]metav1.ManagedFieldsEntry{{
			Manager: injection.FieldOwner, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(ownedFields[kind == "crd"]),
		}})
		setBundle(object, bundle)
		s.targets[kind] = &simulatedTarget{object: object, history: []bundleVersion{{bundle: bundle}}}
	}
	return s
}

// setBundle writes a bundle into a target.
func setBundle(object *unstructured.Unstructured, bundle []byte) {
	config := map[string]any{"caBundle": base64.StdEncoding.EncodeToString(bundle)}
	if object.GetName() == "crd" {
		object.Object["spec"] = map[string]any{"conversion": map[string]any{"strategy": "Webhook", "webhook": map[string]any{"clientConfig": config}}}
	} else {
		object.Object["webhooks"] = []any{map[string]any{"name": "one", "clientConfig": config}}
	}
}

// do handles a request once the test has released it, and returns the response once that is released too:
// other requests, or a crash, may come in between.
func (s *simulation) do(ctx context.Context, r *replica, what string, do func() error) error {
	if err := s.await(ctx, r, what); err != nil {
		return err
	}
	s.mu.Lock()
	err := do()
	s.log("%s %s: %v", r.id, what, err)
	s.mu.Unlock()
	if err := s.await(ctx, r, what+" response"); err != nil {
		return err
	}
	return err
}

func (s *simulation) await(ctx context.Context, r *replica, what string) error {
	request := &pendingRequest{replica: r, what: what, since: time.Now(), open: make(chan struct{})}
	s.mu.Lock()
	s.pending = append(s.pending, request)
	s.mu.Unlock()
	select {
	case s.arrived <- struct{}{}:
	default:
	}
	var err error
	select {
	case <-request.open:
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = slices.DeleteFunc(s.pending, func(one *pendingRequest) bool { return one == request })
	switch {
	case r.crashed:
		return errCrashed
	case err != nil:
		return err
	case s.crash != nil && s.crash(r, what):
		s.log("%s crashes at %q", r.id, what)
		r.crashed = true
		return errCrashed
	case time.Now().Before(r.disconnectedUntil):
		return errDisconnected
	}
	return nil
}

func (s *simulation) log(format string, a ...any) {
	if len(s.trace) < 20000 {
		s.trace = append(s.trace, fmt.Sprintf("%8s ", time.Since(s.began).Round(time.Millisecond))+fmt.Sprintf(format, a...))
	}
}

// store stores the Secret as a new version and notifies the watchers.
func (s *simulation) store(secret *corev1.Secret) *corev1.Secret {
	s.version++
	s.secret = secret.DeepCopy()
	s.secret.ResourceVersion = strconv.Itoa(s.version)
	for r, watcher := range s.watchers {
		if !time.Now().Before(r.disconnectedUntil) && !watcher.IsStopped() {
			watcher.Modify(s.secret.DeepCopy())
		}
	}
	return s.secret.DeepCopy()
}

// checkUsable fails unless an operator that knows nothing of rotations could use the Secret: the pair is
// one, and is trusted.
func (s *simulation) checkUsable(secret *corev1.Secret) error {
	pair, err := tls.X509KeyPair(secret.Data[certs.CertKey], secret.Data[certs.PrivateKey])
	if err != nil {
		return err
	}
	trusted, err := pemfile.ParseCertificates(secret.Data[certs.CAKey])
	if err != nil {
		return err
	}
	if !certs.Contains(trusted, pair.Leaf) {
		return errors.New("its ca.crt does not contain its tls.crt")
	}
	return nil
}

// checkAccepted returns why an API server would refuse a leaf: by the bundle of each target, and by those it
// had within the time that API servers may lag behind their storage.
func (s *simulation) checkAccepted(leaf *x509.Certificate, lag time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) {
		return fmt.Errorf("it is valid from %s to %s, and it is %s", leaf.NotBefore, leaf.NotAfter, now)
	}
	for kind, target := range s.targets {
		for _, one := range target.history {
			if !one.until.IsZero() && now.Sub(one.until) >= lag {
				continue
			}
			if err := s.signedBy(leaf, one.bundle, now); err != nil {
				return fmt.Errorf("%s has (until %s) %w", kind, one.until, err)
			}
		}
	}
	return nil
}

func (s *simulation) signedBy(leaf *x509.Certificate, bundle []byte, now time.Time) error {
	roots, known := s.parsed[string(bundle)]
	if !known {
		var err error
		if roots, err = pemfile.ParseCertificates(bundle); err != nil {
			return err
		}
		s.parsed[string(bundle)] = roots
	}
	for _, root := range roots {
		if !bytes.Equal(root.SubjectKeyId, leaf.AuthorityKeyId) || now.After(root.NotAfter) || now.Before(root.NotBefore) {
			continue
		}
		link := leaf.SerialNumber.String() + root.SerialNumber.String()
		if s.links[link] || leaf.CheckSignatureFrom(root) == nil {
			s.links[link] = true
			return nil
		}
	}
	return fmt.Errorf("a bundle of %d roots, and none of them has signed serial %s", len(roots), leaf.SerialNumber.Text(16))
}

// The clients of one replica.
type replicaKube struct {
	kubernetes.Interface
	replica *replica
}

type replicaCore struct {
	corev1client.CoreV1Interface
	replica *replica
}

type replicaSecrets struct {
	corev1client.SecretInterface
	replica *replica
}

type replicaDynamic struct {
	dynamic.Interface
	replica *replica
}

type replicaTargets struct {
	dynamic.NamespaceableResourceInterface
	replica *replica
	kind    string
}

func (r replicaKube) CoreV1() corev1client.CoreV1Interface { return replicaCore{replica: r.replica} }
func (c replicaCore) Secrets(string) corev1client.SecretInterface {
	return replicaSecrets{replica: c.replica}
}
func (r replicaSecrets) do(ctx context.Context, what string, do func() error) error {
	return r.replica.simulation.do(ctx, r.replica, what, do)
}

func (r replicaSecrets) Get(ctx context.Context, _ string, _ metav1.GetOptions) (response *corev1.Secret, err error) {
	s := r.replica.simulation
	err = r.do(ctx, "get Secret", func() error {
		if s.secret == nil {
			return apierrors.NewNotFound(secretsResource.GroupResource(), name)
		}
		response = s.secret.DeepCopy()
		return nil
	})
	return response, err
}

func (r replicaSecrets) Create(ctx context.Context, secret *corev1.Secret, _ metav1.CreateOptions) (response *corev1.Secret, err error) {
	s := r.replica.simulation
	err = r.do(ctx, "create Secret", func() error {
		if s.secret != nil {
			return apierrors.NewAlreadyExists(secretsResource.GroupResource(), name)
		}
		response = s.store(secret)
		return nil
	})
	return response, err
}

func (r replicaSecrets) Update(ctx context.Context, secret *corev1.Secret, _ metav1.UpdateOptions) (response *corev1.Secret, err error) {
	s := r.replica.simulation
	err = r.do(ctx, "update Secret to "+secret.Annotations[RotationAnnotation], func() error {
		switch {
		case s.secret == nil:
			return apierrors.NewNotFound(secretsResource.GroupResource(), name)
		case s.secret.ResourceVersion != secret.ResourceVersion:
			return apierrors.NewConflict(secretsResource.GroupResource(), name, errors.New("changed"))
		}
		if err := s.checkUsable(secret); err != nil {
			s.t.Errorf("a Secret that an older operator could not use: %v", err)
		}
		response = s.store(secret)
		return nil
	})
	return response, err
}

func (r replicaSecrets) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	s := r.replica.simulation
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.replica.crashed || time.Now().Before(r.replica.disconnectedUntil) {
		return nil, errDisconnected
	}
	s.watchers[r.replica] = watch.NewFakeWithChanSize(1000, false)
	return s.watchers[r.replica], nil
}

func (r replicaDynamic) Resource(resource schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	for kind, known := range targetKinds {
		if known == resource {
			return replicaTargets{replica: r.replica, kind: kind}
		}
	}
	return nil
}

func (r replicaTargets) Get(ctx context.Context, _ string, _ metav1.GetOptions, _ ...string) (response *unstructured.Unstructured, err error) {
	s := r.replica.simulation
	err = s.do(ctx, r.replica, "get "+r.kind, func() error {
		response = s.targets[r.kind].object.DeepCopy()
		return nil
	})
	return response, err
}

func (r replicaTargets) Patch(ctx context.Context, _ string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*unstructured.Unstructured, error) {
	s := r.replica.simulation
	return nil, s.do(ctx, r.replica, "patch "+r.kind, func() error {
		target := s.targets[r.kind]
		applied := &unstructured.Unstructured{}
		if err := json.Unmarshal(data, &applied.Object); err != nil {
			return err
		}
		if applied.GetResourceVersion() != target.object.GetResourceVersion() {
			return apierrors.NewConflict(targetKinds[r.kind].GroupResource(), r.kind, errors.New("changed"))
		}
		bundle := bundleIn(applied)
		last := &target.history[len(target.history)-1]
		if bytes.Equal(bundle, last.bundle) {
			return nil
		}
		last.until = time.Now()
		target.history = append(target.history, bundleVersion{bundle: bundle})
		target.changes++
		setBundle(target.object, bundle)
		version, _ := strconv.Atoi(target.object.GetResourceVersion())
		target.object.SetResourceVersion(strconv.Itoa(version + 1))
		return nil
	})
}

func bundleIn(object *unstructured.Unstructured) []byte {
	encoded, found, _ := unstructured.NestedString(object.Object, "spec", "conversion", "webhook", "clientConfig", "caBundle")
	if !found {
		hooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
		encoded, _, _ = unstructured.NestedString(hooks[0].(map[string]any), "clientConfig", "caBundle")
	}
	bundle, _ := base64.StdEncoding.DecodeString(encoded)
	return bundle
}
