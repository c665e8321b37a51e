// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package eviction ends one pod through the API server, and reads what its reply means. It decides
// nothing, and never ends a pod with another UID than the one that it was given.
package eviction
