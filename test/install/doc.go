// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install installs Fairlead by its chart in a real control plane, by Helm's library, as a user does:
// install, check, upgrade from an earlier chart, roll back, and uninstall as the guide says.
//
// There are no nodes: kubelet_test.go runs the containers of pods as processes of this host, each with the arguments
// of its container and with a token of its ServiceAccount. A post-renderer makes the Service of the webhooks one
// that the API server finds on this host; nothing else of the chart is changed. `make e2e` runs the first test on a
// real node (node_test.go), where nothing is changed. It is a module of its own, since it needs Helm's library and
// the control plane.
//
// Ring 2 for one installation, upgrade, roll-back and removal, which are every user's. The other ways are in ring 3.
package install
