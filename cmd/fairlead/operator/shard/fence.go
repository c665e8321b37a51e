// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

var errNotOurs = errors.New("the namespace is not reconciled by this shard")

// CheckWrite returns a function to call when a write has ended, or an error that says why it must not be sent.
// Writes without a namespace pass.
func (s *Shard) CheckWrite(r *http.Request) (end func(), err error) {
	name := requestNamespace(r.URL.Path)
	if name == "" {
		return func() {}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[name]
	if e == nil || e.phase != owned {
		return nil, fmt.Errorf("%w: %s is not in shard %s", errNotOurs, name, s.Name)
	}
	e.writes++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		e.writes--
	}, nil
}

func (s *Shard) writesTo(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[name]; e != nil {
		return e.writes
	}
	return 0
}

// requestNamespace returns the namespace of /api/v1/namespaces/NAME/pods and of /apis/GROUP/VERSION/namespaces/NAME/pods,
// which may have a prefix, and of the Namespace itself.
func requestNamespace(path string) string {
	_, after, found := strings.Cut(path, "/namespaces/")
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(after, "/")
	return name
}
