// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package references finds the ConfigMaps and Secrets that a pod template refers to: those whose
// content a container only sees again, or sees for certain, in a new pod.
//
// These count:
//   - env and envFrom of containers and init containers, with those that run beside them (sidecars).
//   - volumes of a ConfigMap or Secret, and projected ones, with their items. The kubelet refreshes
//     such files, but not those mounted by subPath, and few programs read them twice.
//   - Secrets with which a volume is mounted (azureFile, cephfs, cinder, csi, flexVolume, iscsi, rbd,
//     scaleIO, storageos): credentials are used at the mount, so that new ones need a new pod.
//
// These do not:
//   - imagePullSecrets: the kubelet reads them at each pull, and what runs has been pulled.
//   - tokens of the ServiceAccount, cluster trust bundles and pod certificates: the kubelet and the
//     client libraries renew them. The ConfigMap kube-root-ca.crt comes with them, at admission of the
//     pod, and is in no template unless a user wrote it there.
//   - ephemeral containers: no template has any.
//
// It is pure, and does not find out whether what is referred to exists.
package references
