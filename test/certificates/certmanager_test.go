// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

// installCertManager runs cert-manager's controllers and its CA injector.
func (s *suite) installCertManager() {
	s.Helper()
	s.must(s.StartCertManager(s.Context()))
}
