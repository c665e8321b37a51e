// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"net/http"
	"strings"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// newGateway starts one, for as long as the test runs.
func (s *suite) newGateway() *framework.Gateway {
	s.Helper()
	g, err := s.NewGateway(s.TempDir())
	s.Must(err)
	s.Cleanup(g.Close)
	return g
}

// writeKubeconfig makes one for a server that does not authenticate.
func (s *suite) writeKubeconfig(server string) string {
	s.Helper()
	return s.File("kubeconfig", framework.KubeconfigOf(server))
}

// firstReads are the reads that fill the caches of our kinds, as LIST or as WATCH from the start.
func firstReads(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.URL.Path, ".fairlead.dev/v1/")
}

// leases is all that election needs.
func leases(r *http.Request) bool { return strings.Contains(r.URL.Path, "/leases") }
