// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process reads what processes of this machine use, from Linux's /proc. It looks at no
// process that it is not given, and touches none.
package process
