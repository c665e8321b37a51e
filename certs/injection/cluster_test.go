// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/fairlead-dev/fairlead/certs"
)

// newBundle is PEM with one fresh authority.
func newBundle(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		Subject:  pkix.Name{CommonName: "test"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certs.EncodeCertificates(certificate)
}

func newObject(kind *kind, name string, content map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: content}
	object.SetAPIVersion(kind.resource.GroupVersion().String())
	object.SetKind(kind.name)
	object.SetName(name)
	object.SetResourceVersion("1")
	object.SetUID("uid")
	return object
}

func newCRD(name string) *unstructured.Unstructured {
	return newObject(crdKind, name, map[string]any{"spec": map[string]any{"conversion": map[string]any{
		"strategy": "Webhook",
		"webhook":  map[string]any{"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"service": map[string]any{"name": "fairlead-webhook"}}},
	}}})
}

func newWebhooks(kind *kind, name string, webhooks ...string) *unstructured.Unstructured {
	entries := make([]any, 0, len(webhooks))
	for _, webhook := range webhooks {
		entries = append(entries, map[string]any{"name": webhook, "sideEffects": "None", "clientConfig": map[string]any{"service": map[string]any{"name": "fairlead-webhook"}}})
	}
	return newObject(kind, name, map[string]any{"webhooks": entries})
}

// standard is one target of each kind as it is installed, without a bundle.
func standard() []runtime.Object {
	return []runtime.Object{
		newCRD("foos.x.dev"),
		newWebhooks(mutatingKind, "fairlead-foo", "a.x.dev", "b.x.dev"),
		newWebhooks(validatingKind, "fairlead-foo", "c.x.dev"),
	}
}

// withBundle writes a bundle into every slot, as its owner would.
func withBundle(t *testing.T, object *unstructured.Unstructured, bundle []byte, owner string) *unstructured.Unstructured {
	t.Helper()
	target := targetOf(t, object)
	slots, err := target.kind.slots(object)
	if err != nil {
		t.Fatal(err)
	}
	merge(object.Object, target.patch(object, slots, bundle).Object)
	own(object, target.kind, slots, owner)
	return object
}

// own sets the owner of all slots, in place of any former one.
func own(object *unstructured.Unstructured, kind *kind, slots []slot, owner string) {
	fields := map[string]any{}
	for _, one := range slots {
		_ = unstructured.SetNestedField(fields, map[string]any{}, kind.path(one)...)
	}
	raw, _ := json.Marshal(fields)
	object.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: owner, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(raw)),
	}})
}

func targetOf(t *testing.T, object *unstructured.Unstructured) target {
	t.Helper()
	kind := kindOf(object)
	if kind == nil {
		t.Fatalf("no target is of kind %s", object.GetKind())
	}
	return target{kind, object.GetName()}
}

func kindOf(object *unstructured.Unstructured) *kind {
	for _, kind := range []*kind{crdKind, mutatingKind, validatingKind} {
		if kind.name == object.GetKind() {
			return kind
		}
	}
	return nil
}

// merge applies the fields that the injector sends: maps by key, webhooks by name.
func merge(into, from map[string]any) {
	for key, value := range from {
		switch value := value.(type) {
		case map[string]any:
			inner, ok := into[key].(map[string]any)
			if !ok {
				inner = map[string]any{}
				into[key] = inner
			}
			merge(inner, value)
		case []any:
			for _, entry := range value {
				for _, standing := range into[key].([]any) {
					if standing.(map[string]any)["name"] == entry.(map[string]any)["name"] {
						merge(standing.(map[string]any), entry.(map[string]any))
					}
				}
			}
		default:
			into[key] = value
		}
	}
}

// newCluster is a client whose patches are applied as the API server applies ours: against the
// resourceVersion, and refused where another manager owns a slot with another bundle.
func newCluster(objects ...runtime.Object) *fake.FakeDynamicClient {
	client := fake.NewSimpleDynamicClient(runtime.NewScheme(), objects...)
	client.PrependReactor("patch", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch := action.(clienttesting.PatchActionImpl)
		resource := patch.GetResource()
		stored, err := client.Tracker().Get(resource, "", patch.GetName())
		if err != nil {
			return true, nil, err
		}
		object := stored.(*unstructured.Unstructured).DeepCopy()
		applied := &unstructured.Unstructured{}
		if err := json.Unmarshal(patch.GetPatch(), &applied.Object); err != nil {
			return true, nil, err
		}
		if applied.GetResourceVersion() != object.GetResourceVersion() || applied.GetUID() != object.GetUID() {
			return true, nil, apierrors.NewConflict(resource.GroupResource(), patch.GetName(), nil)
		}
		force := patch.PatchOptions.Force != nil && *patch.PatchOptions.Force
		for _, entry := range object.GetManagedFields() {
			if entry.Manager != patch.PatchOptions.FieldManager && !force {
				return true, nil, apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Message: entry.Manager}}, "Apply failed: conflict with "+strconv.Quote(entry.Manager))
			}
		}
		merge(object.Object, applied.Object)
		kind := kindOf(object)
		slots, err := kind.slots(object)
		if err != nil {
			return true, nil, err
		}
		own(object, kind, slots, patch.PatchOptions.FieldManager)
		version, _ := strconv.Atoi(object.GetResourceVersion())
		object.SetResourceVersion(strconv.Itoa(version + 1))
		return true, object, client.Tracker().Update(resource, object, "")
	})
	return client
}

// bundles are the values of all slots of the standard targets.
func bundles(t *testing.T, client *fake.FakeDynamicClient) []string {
	t.Helper()
	var all []string
	for _, object := range standard() {
		target := targetOf(t, object.(*unstructured.Unstructured))
		stored, err := client.Resource(target.kind.resource).Get(context.Background(), target.name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		slots, err := target.kind.slots(stored)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range slots {
			all = append(all, string(one.current))
		}
	}
	return all
}

func patches(client *fake.FakeDynamicClient) int {
	count := 0
	for _, action := range client.Actions() {
		if action.GetVerb() == "patch" {
			count++
		}
	}
	return count
}

func encoded(bundle []byte) string { return base64.StdEncoding.EncodeToString(bundle) }

// logLines is a log that a test can read.
type logLines struct {
	mu   sync.Mutex
	text []string
}

func (l *logLines) logger() logr.Logger {
	return funcr.New(func(_, args string) {
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
