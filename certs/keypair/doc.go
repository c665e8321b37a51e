// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package keypair parses a serving certificate in the form of a TLS Secret: tls.crt with the whole chain,
// tls.key, and optionally ca.crt. Its result can be served: key and certificate match, the certificate is
// valid now and for the name, and clients that trust ca.crt accept it. Anything else is an error that names
// the key and the remedy, and never quotes the content.
package keypair
