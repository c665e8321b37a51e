// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/cron"
	"github.com/fairlead-dev/fairlead/internal/freeze"
)

// Source is the content of a ConfigMap or Secret. Its values are compared and never printed.
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

// Freeze holds the blackouts of the cluster, as far as they could be read.
type Freeze struct {
	Blackouts []cron.Blackout
	// Calendar has all of them; nil where there are none.
	Calendar *cron.Calendar
	// IsWhole: those in the configuration of the operator are among them, since this user may read it.
	IsWhole bool
	Unread  []Unread
}

// ReadBlackouts reads the blackouts of the cluster, in the namespace of the operator.
func ReadBlackouts(ctx context.Context, from client.Reader, operatorNamespace string) (f Freeze) {
	configuration := options.Default().Calendar
	if read := operatorConfiguration(ctx, from, operatorNamespace); read != nil {
		configuration, f.IsWhole = read.Calendar, true
	}
	if configured, err := cron.NewBlackouts(configuration.Blackouts); err == nil { // otherwise no operator runs with it
		f.Blackouts, f.Calendar = configuration.Blackouts, configured
	}
	if configuration.ConfigMap == "" {
		return f
	}
	key := Key{ConfigMap, operatorNamespace, configuration.ConfigMap}
	source, unread := ReadSource(ctx, from, key)
	if unread != nil { // few users may read the namespace of the operator
		unread.IsBeyond = true
		f.Unread = append(f.Unread, *unread)
	}
	if source == nil {
		return f
	}
	declared := &corev1.ConfigMap{Data: map[string]string{}}
	for key, value := range source.Data {
		declared.Data[key] = string(value)
	}
	var own *cron.Calendar
	all, err := freeze.Blackouts(declared)
	if err == nil {
		own, err = cron.NewBlackouts(all)
	}
	if err != nil {
		f.Unread = append(f.Unread, Unread{
			Resource: key.resourceText(configMaps), Message: err.Error() + ": correct it, since the operator keeps to what it has read last",
		})
		return f
	}
	f.Blackouts, f.Calendar = slices.Concat(f.Blackouts, all), f.Calendar.And(own)
	return f
}

// operatorConfiguration returns the configuration of the operator's reconcilers; nil where it cannot be read.
func operatorConfiguration(ctx context.Context, from client.Reader, namespace string) *options.Configuration {
	deployments, err := operatorDeployments(ctx, from, namespace)
	if err != nil {
		return nil
	}
	for i := range deployments {
		if configuration, err := configurationOf(ctx, from, &deployments[i]); err == nil && configuration.Controllers.Enabled {
			return configuration
		}
	}
	return nil
}
