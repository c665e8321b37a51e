// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout deploys Fairlead's real image on a real node with the shipped manifests, and does to
// its replicas what platform teams and bad luck do, while users' requests flow through the real API
// server and the real Service: new images, restarts, a leader deleted, a leader's container killed.
//
// It counts what the requests lost, and measures how late kube-proxy is: how long after a pod has
// stopped being ready the kernel still sends new connections to it.
//
// The package never changes the shipped manifests, but for the image and the number of replicas.
package rollout
