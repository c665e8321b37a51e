// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster runs a real Kubernetes control plane on loopback: etcd, kube-apiserver and, unless
// told otherwise, kube-controller-manager, each the unmodified program, with TLS, RBAC and free
// ports. Where nodes are wanted, kube-scheduler and KWOK join them, which plays the kubelets:
// workloads roll, and pods fail as their labels say (the table is in README.md). It needs Go and the
// Go module proxy the first time, and nothing afterwards: no root, no container engine, no network.
//
//	c, err := cluster.Start(ctx, cluster.Options{Output: os.Stderr})
//	if err != nil { ... }
//	defer c.Stop()
//	out, err := c.Kubectl(ctx, "get", "namespaces")
//
// A cluster owns one temporary folder and its processes. All of it is gone after Stop, after the
// context given to Start ends, and also when the owning process crashes or is killed: a supervisor, a
// shell of a few lines in a session of its own, reads a pipe whose other end only the owner holds,
// and cleans up at its end. Two clusters may run at once.
//
// A component is one Spec: a program, its arguments, and how to see that it is ready. Another
// component of the control plane is one more file here, plus its line in the table of binaries.go
// and in controlplane/go.mod; a program from elsewhere, such as an operator under test, joins a
// running cluster through Cluster.Run.
//
// The package never touches the user's kubeconfig or kubectl's caches, never listens beyond
// loopback, never stands in for an API server's answer, and imports the standard library alone.
// It runs on Linux and macOS.
//
// Ring 3: its tests are of a tool of the suites, which fail where it does.
package cluster
