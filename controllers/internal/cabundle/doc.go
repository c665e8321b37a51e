// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cabundle reads the Secrets whose certificates the checks of a kind trust. It reads one when a check needs it,
// and again about once a minute; it watches and lists none, and keeps no other content of a Secret.
package cabundle
