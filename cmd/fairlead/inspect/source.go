// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/internal/cron"
	"github.com/fairlead-dev/fairlead/internal/freeze"
)

// Source is the content of a ConfigMap or Secret, of which values are compared and never shown.
type Source struct {
	metav1.ObjectMeta
	Data map[string][]byte
}

// SourceOf returns the content of a ConfigMap or Secret as the API server would store it; nil for another object.
func SourceOf(object client.Object) *Source {
	s := &Source{Data: map[string][]byte{}}
	switch o := object.(type) {
	case *corev1.ConfigMap:
		s.ObjectMeta = o.ObjectMeta
		for key, value := range o.BinaryData {
			s.Data[key] = value
		}
		for key, value := range o.Data {
			s.Data[key] = []byte(value)
		}
	case *corev1.Secret:
		s.ObjectMeta = o.ObjectMeta
		for key, value := range o.Data {
			s.Data[key] = value
		}
		for key, value := range o.StringData {
			s.Data[key] = []byte(value)
		}
	default:
		return nil
	}
	return s
}

// ReadSource reads a ConfigMap or Secret. Without a Source and what is unread, there is none.
func ReadSource(ctx context.Context, from client.Reader, key Key) (*Source, *Unread) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var object client.Object = &corev1.Secret{}
	k := secrets
	if key.Kind == ConfigMap {
		object, k = &corev1.ConfigMap{}, configMaps
	}
	err := from.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, object)
	switch {
	case err == nil:
		return SourceOf(object), nil
	case apierrors.IsNotFound(err):
		return nil, nil
	}
	return nil, &Unread{Resource: key.resourceText(k), Message: words(err, k, "get", key.Namespace)}
}

func (k Key) resourceText(of kind) string {
	return fmt.Sprintf("%s/%s in namespace %s", of.resource, k.Name, k.Namespace)
}

// CalendarConfigMap is the one with the blackouts of the cluster, unless the configuration of the operator names another one.
const CalendarConfigMap = "fairlead-calendar"

// ReadBlackouts reads the blackouts of the cluster, in the namespace of the operator. Those in its configuration are not read.
func ReadBlackouts(ctx context.Context, from client.Reader, operatorNamespace string) ([]cron.Blackout, *Unread) {
	key := Key{ConfigMap, operatorNamespace, CalendarConfigMap}
	source, unread := ReadSource(ctx, from, key)
	if unread != nil { // few users may read the namespace of the operator
		unread.IsBeyond = true
	}
	if source == nil {
		return nil, unread
	}
	declared := &corev1.ConfigMap{Data: map[string]string{}}
	for key, value := range source.Data {
		declared.Data[key] = string(value)
	}
	all, err := freeze.Blackouts(declared)
	if err == nil {
		_, err = cron.NewBlackouts(all)
	}
	if err != nil {
		return nil, &Unread{Resource: key.resourceText(configMaps), Message: err.Error() + ": correct it, since the operator keeps to what it has read last"}
	}
	return all, nil
}
