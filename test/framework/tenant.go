// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewNamespace makes one that no other test has, and returns its name.
func NewNamespace(ctx context.Context, c client.Client) (string, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}}
	err := c.Create(ctx, namespace)
	return namespace.Name, err
}

// KubectlIn runs kubectl as the administrator, and returns what it wrote to both its streams. With a namespace of ""
// each object of a manifest is in its own.
func (s *Cluster) KubectlIn(ctx context.Context, namespace, stdin string, args ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(ctx, kubectlTimeout)
	defer cancel()
	if namespace != "" {
		args = append([]string{"-n", namespace}, args...)
	}
	var out, problems bytes.Buffer
	err = s.KubectlIO(ctx, strings.NewReader(stdin), &out, &problems, args...)
	return out.String(), problems.String(), err
}

// Told returns the events on an object, by reason: every occurrence that the API server has.
func Told(ctx context.Context, c client.Client, namespace, kind, name string) (map[string][]eventsv1.Event, error) {
	var list eventsv1.EventList
	if err := c.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	events := map[string][]eventsv1.Event{}
	for _, event := range list.Items {
		if event.Regarding.Kind != kind || event.Regarding.Name != name {
			continue
		}
		times := 1
		if event.Series != nil {
			times = int(event.Series.Count)
		}
		for range times {
			events[event.Reason] = append(events[event.Reason], event)
		}
	}
	return events, nil
}
