// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// newGateway starts one, for as long as the test runs.
func (s *suite) newGateway() *framework.Gateway {
	s.Helper()
	g, err := s.NewGateway(s.TempDir())
	s.must(err)
	s.Cleanup(g.Close)
	return g
}

// writeKubeconfig makes one for a server that does not authenticate.
func (s *suite) writeKubeconfig(server string) string {
	s.Helper()
	return s.writeFile("kubeconfig", framework.KubeconfigOf(server))
}

// writeFile makes a file for the test and returns its path.
func (s *suite) writeFile(name, content string) string {
	s.Helper()
	path := filepath.Join(s.TempDir(), name)
	s.must(os.WriteFile(path, []byte(content), 0o600))
	return path
}

// firstReads are the reads that fill the caches of our kinds, as LIST or as WATCH from the start.
func firstReads(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.URL.Path, ".fairlead.dev/v1/")
}

// leases is all that election needs.
func leases(r *http.Request) bool { return strings.Contains(r.URL.Path, "/leases") }
