// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certmanager has cert-manager issue the webhook's serving certificate: it makes or adopts
// the Certificate and its Issuer, waits for them, and serves what stands in the Secret.
package certmanager
