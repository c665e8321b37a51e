// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/freeze"
)

// calendar makes what knows the blackouts of the whole cluster.
func (i *incumbent) calendar() (*freeze.Freeze, error) {
	client, err := kubernetes.NewForConfig(binary(i.limited()))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", i.api.origin, err)
	}
	c := i.config.Calendar
	where := corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: i.place.namespace, Name: c.ConfigMap}
	made, err := freeze.New(freeze.Options{
		Configured: c.Blackouts,
		ConfigMaps: client.CoreV1().ConfigMaps(i.place.namespace),
		Name:       c.ConfigMap,
		OnUnreadable: func(cause string) {
			if i.conversions.tell == nil {
				return
			}
			i.conversions.tell(events.Notice{
				Regarding: where, Reason: "CalendarUnreadable", Action: "Read",
				Note: "The blackouts of the cluster cannot be read: what was last known of them stands, and where nothing was, no restart begins: " + cause,
			})
		},
		Logger:     i.Logger.WithName("calendar"),
		Registerer: i.metrics,
	})
	if err != nil {
		return nil, fmt.Errorf("calendar: %w", err)
	}
	return made, nil
}
