// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package node runs one real Kubernetes node, with a real control plane, in a machine of its own made
// of namespaces: containerd, runc, the kubelet, kube-proxy (nftables) and CNI plugins, each the
// unmodified program. Images run as containers there, and Services are what the kernel makes of them.
//
// It is for what neither processes on loopback nor simulated kubelets can show: that the image
// starts, that the shipped manifests deploy it, and that requests through a ClusterIP survive what a
// rollout does, the time included that kube-proxy takes to notice.
//
//	missing := node.Missing()       // what this machine lacks, to be said plainly
//	programs, err := node.Prepare(ctx, node.PrepareOptions{Root: root})
//	code, err := node.Enter(ctx, ...) // on the host: the same program again, inside
//	n, err := node.Start(ctx, ...)    // inside
//
// The inside has a network with no link to the host, its own process ids, and its own mounts: what it
// writes to /run and /var lies in memory. Ending its first process ends everything in it. All that it
// leaves to be removed is a control group, which Enter removes, also that of a former run that was
// killed. Nothing on the host listens, and nothing is installed there.
//
// The package never runs on the host's own network, never asks a registry for an image, and never
// stands in for what a node does.
//
// Ring 3, with `make e2e`: it takes root.
package node
