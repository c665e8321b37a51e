// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stale keeps reconcilers whose memory is a status from acting on an old one. It writes nothing.
package stale
