// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
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

// versions returns the versions that any write would change.
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
