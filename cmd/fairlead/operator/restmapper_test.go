// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// failingMapper returns errors, one after the other, and then a mapping.
type failingMapper struct {
	meta.RESTMapper
	errs  []error
	asked int
}

func (m *failingMapper) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	if m.asked++; m.asked <= len(m.errs) {
		return nil, m.errs[m.asked-1]
	}
	return &meta.RESTMapping{}, nil
}

func TestDiscoveryIsRetriedUnlessItSaysThatAKindIsNotServed(t *testing.T) {
	t.Parallel()
	deployment := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	own := schema.GroupKind{Group: "networking.fairlead.dev", Kind: "ExternalService"}
	notServed := func(kind schema.GroupKind) error { return &meta.NoKindMatchError{GroupKind: kind} }
	page := errors.New("502 Bad Gateway")
	for name, test := range map[string]struct {
		kind  schema.GroupKind
		errs  []error
		asked int
		found bool
	}{
		"served":                          {deployment, nil, 1, true},
		"a page of a proxy":               {own, []error{page, page}, 3, true},
		"a CRD that is missing":           {own, []error{notServed(own)}, 1, false},
		"a CRD that is missing, later on": {own, []error{page, notServed(own)}, 2, false},
		"a kind that is always there":     {deployment, []error{notServed(deployment), page}, 3, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inner := &failingMapper{errs: test.errs}
			m := &retryingMapper{RESTMapper: inner, ctx: t.Context(), limit: time.Minute, delay: time.Millisecond, logger: logr.Discard()}
			got, err := m.RESTMapping(test.kind)
			if (got != nil) != test.found || (err == nil) != test.found || inner.asked != test.asked {
				t.Errorf("%v, %v after %d requests, want %d", got, err, inner.asked, test.asked)
			}
		})
	}
}

func TestDiscoveryThatIsRetriedEnds(t *testing.T) {
	t.Parallel()
	forever := make([]error, 1000)
	for i := range forever {
		forever[i] = errors.New("502 Bad Gateway")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for name, m := range map[string]*retryingMapper{
		"with its caches": {ctx: ended, limit: time.Minute},
		"at its limit":    {ctx: t.Context(), limit: 20 * time.Millisecond},
	} {
		m.RESTMapper, m.delay, m.logger = &failingMapper{errs: forever}, time.Millisecond, logr.Discard()
		if _, err := m.RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"}); err == nil || err.Error() != "502 Bad Gateway" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
