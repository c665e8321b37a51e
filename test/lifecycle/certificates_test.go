// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	rootSecret = "fairlead-webhook-ca"
	injector   = "fairlead-ca-injector"
)

// trusted are the objects that carry the CA bundle, by resource.
var trusted = []struct {
	resource schema.GroupVersionResource
	names    []string
}{{crds, framework.Definitions}, {mutating, framework.WebhookConfigurations}, {validating, framework.WebhookConfigurations}}

// trusting are the objects that carry the CA bundle.
func (s *suite) trusting() []*unstructured.Unstructured {
	s.Helper()
	var all []*unstructured.Unstructured
	for _, one := range trusted {
		for _, name := range one.names {
			object, err := s.Dynamic.Resource(one.resource).Get(s.Context(), name, metav1.GetOptions{})
			s.Must(err)
			all = append(all, object)
		}
	}
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return all
}

// bundles are the CA bundles of an object, by the path to each.
func (s *suite) bundles(value any, path string, into map[string][]byte) map[string][]byte {
	s.Helper()
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			if name == "clientConfig" {
				config, _ := inner.(map[string]any)
				encoded, _ := config["caBundle"].(string)
				decoded, err := base64.StdEncoding.DecodeString(encoded)
				s.Must(err)
				into[path] = decoded
			} else if name != "metadata" {
				s.bundles(inner, path+"."+name, into)
			}
		}
	case []any:
		for i, inner := range value {
			s.bundles(inner, fmt.Sprintf("%s[%d]", path, i), into)
		}
	}
	return into
}

func (s *suite) secret() *corev1.Secret {
	s.Helper()
	secret, err := s.Kube.CoreV1().Secrets(framework.Namespace).Get(s.Context(), rootSecret, metav1.GetOptions{})
	s.Must(err)
	return secret
}

// certificates are those of a bundle, which may be empty.
func (s *suite) certificates(bundle []byte) []*x509.Certificate {
	s.Helper()
	var all []*x509.Certificate
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		one, err := x509.ParseCertificate(block.Bytes)
		s.Must(err)
		all = append(all, one)
	}
	return all
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

// ownsBundlesAlone wants the injector to be the one owner of each caBundle, and to own nothing else.
func (s *suite) ownsBundlesAlone(object *unstructured.Unstructured) {
	s.Helper()
	found := false
	for _, entry := range object.GetManagedFields() {
		var fields map[string]any
		s.Must(json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields))
		for _, leaf := range leaves(fields, "") {
			bundle := strings.HasSuffix(leaf, "/f:clientConfig/f:caBundle")
			// The name is the key of a webhook in its list, without which no field of it is owned.
			key := strings.HasSuffix(leaf, "}/f:name") || strings.HasSuffix(leaf, "}/.")
			switch {
			case bundle && entry.Manager != injector:
				s.Errorf("%s: %s owns %s", object.GetName(), entry.Manager, leaf)
			case bundle:
				found = true
			case entry.Manager == injector && !key:
				s.Errorf("%s: the injector owns %s", object.GetName(), leaf)
			}
		}
	}
	if !found {
		s.Errorf("%s: the injector owns no caBundle", object.GetName())
	}
}

func leaves(fields map[string]any, path string) []string {
	var all []string
	for name, inner := range fields {
		if deeper, ok := inner.(map[string]any); ok && len(deeper) > 0 {
			all = append(all, leaves(deeper, path+"/"+name)...)
		} else {
			all = append(all, path+"/"+name)
		}
	}
	return all
}

// versions are what any write would change.
func (s *suite) versions() map[string]string {
	s.Helper()
	secret := s.secret()
	all := map[string]string{"Secret": secret.ResourceVersion}
	for _, object := range s.trusting() {
		all[object.GetName()] = fmt.Sprintf("%s, generation %d", object.GetResourceVersion(), object.GetGeneration())
	}
	return all
}

// Each write of a CRD makes the API server convert all stored objects again.
func TestARestartWritesNeitherTheRootNorTheBundles(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	r := s.start()
	r.reconciles()
	before := s.versions()
	s.Must(r.Restart(t.Context()))
	r.reconciles()
	for name, version := range s.versions() {
		if version != before[name] {
			t.Errorf("%s was written: from %s to %s", name, before[name], version)
		}
	}
}

func TestApplyingTheManifestsAgainKeepsTheBundles(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.start().reconciles()
	want := s.bundle(framework.Definitions[0])
	s.Must(s.Reinstall(t.Context()))
	for _, object := range s.trusting() {
		for path, bundle := range s.bundles(object.Object, object.GetName(), map[string][]byte{}) {
			if !bytes.Equal(bundle, want) {
				t.Errorf("%s has another bundle now: %q", path, bundle)
			}
		}
	}
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

// keyMaterial names the replicas' logs in a folder that hold a part of a key.
func keyMaterial(folder string, key []byte) (found []string, err error) {
	block, _ := pem.Decode(key)
	if block == nil {
		return nil, errors.New("the Secret holds no key")
	}
	// Any 48 bytes of it in either of the encodings that a careless line would have.
	encoded, twice := base64.StdEncoding.EncodeToString(block.Bytes), base64.StdEncoding.EncodeToString(key)
	files, err := filepath.Glob(filepath.Join(folder, "fairlead-*.log"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s holds no log of a replica", folder)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, never := range []string{encoded[64:112], twice[96:144], "PRIVATE KEY-----"} {
			if bytes.Contains(content, []byte(never)) {
				found = append(found, filepath.Base(file)+" holds key material")
			}
		}
	}
	return found, err
}
