// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package connections bounds what callers of a port can cost before a request of theirs is read: how many
// connections are open, and how many lines are logged of those that fail. Any pod may reach a port of the
// operator, and those who connect and send nothing must keep out neither the API server nor the kubelet.
//
// It reads no request, and knows nothing of TLS but the connection below it.
package connections
