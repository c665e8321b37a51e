// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fingerprint

import (
	"context"
	"crypto/rand"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/apistatus"
)

const (
	// DefaultSecret is the usual name of the Secret that holds the key.
	DefaultSecret = "fairlead-fingerprint-key"

	// dataKey is the key of the Secret's data that holds the fingerprint key.
	dataKey = "key"
)

// Load reads the key from a Secret, and makes the Secret where there is none. Replicas that do so at
// once end with the same key. An empty name means DefaultSecret.
//
// A Secret without a proper key is an error: to replace it makes every baseline unknown, which only
// a human may decide.
func Load(ctx context.Context, client kubernetes.Interface, namespace, name string) (*Key, error) {
	if name == "" {
		name = DefaultSecret
	}
	secrets := client.CoreV1().Secrets(namespace)
	stored, err := secrets.Get(ctx, name, metav1.GetOptions{})
	if apistatus.IsAbsent(err, corev1.Resource("secrets"), name) {
		stored, err = secrets.Create(ctx, newSecret(namespace, name), metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) { // another replica was first
			stored, err = secrets.Get(ctx, name, metav1.GetOptions{})
		}
	}
	if err != nil {
		return nil, fmt.Errorf("fingerprint key: secret %s/%s: %w", namespace, name, err)
	}
	// What counts is what is stored, also after our own create.
	key, err := NewKey(stored.Data[dataKey])
	if err != nil {
		return nil, fmt.Errorf("fingerprint key: secret %s/%s, data %q: %w; restore it from a backup, or delete the Secret: the operator creates a new key at the next start, and then restarts nothing for earlier changes, not even for pending ones",
			namespace, name, dataKey, err)
	}
	return key, nil
}

func newSecret(namespace, name string) *corev1.Secret {
	secret := make([]byte, Size)
	_, _ = rand.Read(secret) // never fails: the program ends first
	immutable := true
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name,
			Labels: map[string]string{common.ManagedByLabel: common.ManagedBy},
		},
		Type:      corev1.SecretTypeOpaque,
		Immutable: &immutable,
		Data:      map[string][]byte{dataKey: secret},
	}
}
