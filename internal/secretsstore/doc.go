// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package secretsstore is what is read of the SecretProviderClassPodStatuses of the Secrets Store CSI driver, as a type of our
// own: which versions of secrets a pod has mounted. Package workloadkinds has their informer.
//
// The package never writes one, holds no value of a secret, and imports nothing of that project.
package secretsstore
