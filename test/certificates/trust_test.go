// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// target is an object by which the API server trusts the webhooks.
type target struct {
	resource schema.GroupVersionResource
	name     string
}

func (t target) String() string { return t.resource.Resource + " " + t.name }

var targets = slices.Concat(targetsOf(crds, framework.Definitions),
	targetsOf(mutating, framework.WebhookConfigurations), targetsOf(validating, framework.WebhookConfigurations))

func targetsOf(resource schema.GroupVersionResource, names []string) []target {
	all := make([]target, 0, len(names))
	for _, name := range names {
		all = append(all, target{resource, name})
	}
	return all
}

// bundles are all CA bundles that stand in a target now.
func (s *suite) bundles(ctx context.Context, t target) ([][]byte, error) {
	object, err := s.Dynamic.Resource(t.resource).Get(ctx, t.name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	configs := []any{}
	if t.resource == crds {
		config, _, err := unstructured.NestedMap(object.Object, "spec", "conversion", "webhook", "clientConfig")
		if err != nil {
			return nil, err
		}
		configs = append(configs, config)
	} else {
		hooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
		if err != nil {
			return nil, err
		}
		for _, hook := range hooks {
			configs = append(configs, hook.(map[string]any)["clientConfig"])
		}
	}
	var all [][]byte
	for _, config := range configs {
		encoded, _ := config.(map[string]any)["caBundle"].(string)
		bundle, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, err
		}
		all = append(all, bundle)
	}
	return all, nil
}

// trusted waits until every target carries exactly the bundle.
func (s *suite) trusted(bundle func() []byte) {
	s.Helper()
	s.Eventually(func() error {
		want := bundle()
		for _, t := range targets {
			all, err := s.bundles(s.Context(), t)
			if err != nil {
				return err
			}
			for _, one := range all {
				if string(one) != string(want) {
					return fmt.Errorf("%s carries %d bytes of bundle, want %d:\n%s", t.name, len(one), len(want), one)
				}
			}
		}
		return nil
	})
}

// secret is one key of a Secret of the operator's namespace; nil where there is none.
func (s *suite) secret(name, key string) []byte {
	s.Helper()
	secret, err := s.Kube.CoreV1().Secrets(framework.Namespace).Get(s.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return secret.Data[key]
}

// authorities is how many certificates a bundle holds.
func authorities(bundle []byte) int {
	all, err := pemfile.ParseCertificates(bundle)
	if err != nil {
		return 0
	}
	return len(all)
}

// serves waits until the replica presents the first certificate of the PEM text.
func (s *suite) serves(r *framework.Replica, text func() []byte) *x509.Certificate {
	s.Helper()
	var leaf *x509.Certificate
	s.Eventually(func() error {
		chain, err := pemfile.ParseCertificates(text())
		if err != nil {
			return err
		}
		leaf, err = framework.Presented(s.Context(), r.Webhook, nil)
		if err == nil && !leaf.Equal(chain[0]) {
			err = fmt.Errorf("%s serves the certificate %x, want %x", r.ID, leaf.SerialNumber, chain[0].SerialNumber)
		}
		return err
	})
	return leaf
}

// issuance is the certificate in the serving Secret.
func (s *suite) issuance() []byte { return s.secret(servingKey, certs.CertKey) }
