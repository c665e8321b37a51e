// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import "context"

// withCertManager has cert-manager's own controllers issue for the replicas.
func withCertManager(ctx context.Context, s *site, _ string) error {
	return s.StartCertManager(ctx, "--cainjector=false")
}
