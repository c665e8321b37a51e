// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package envtest shows how to test an operator, a chart or a GitOps repository against Fairlead's
// kinds with controller-runtime's envtest: a real API server, Fairlead's CRDs and webhooks installed
// from config/, conversion kept on, and the operator in the process of the test, serving the
// certificate that envtest made.
//
// operator_test.go and example_test.go are written to be copied. They import nothing but envtest,
// clients, and packages of Fairlead that any module can import. README.md explains them.
//
// The package holds tests alone.
//
// Ring 3: it is for those who test beside Fairlead.
package envtest
