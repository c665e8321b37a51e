// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package keypair reads a serving certificate as it stands in a TLS Secret, mounted or not:
// tls.crt with the whole chain, tls.key, and perhaps ca.crt. What it returns can be served: the
// halves belong together, the certificate is valid now and for the name, and who trusts ca.crt
// accepts it. Anything else is an error that names the key and the remedy, and quotes nothing.
package keypair
