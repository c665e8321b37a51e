// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// herd knows every pod that there ever was, by its label app.
type herd struct {
	mu   sync.Mutex
	seen map[types.UID]string
}

// watchPods ends with the test.
func (s *suite) watchPods() *herd {
	s.Helper()
	h := &herd{seen: map[types.UID]string{}}
	changes, err := s.Client.Watch(s.Context(), &corev1.PodList{}, client.InNamespace(s.Namespace))
	s.Must(err)
	var work sync.WaitGroup
	work.Go(func() {
		for change := range changes.ResultChan() {
			if pod, ok := change.Object.(*corev1.Pod); ok {
				h.mu.Lock()
				h.seen[pod.UID] = pod.Labels["app"]
				h.mu.Unlock()
			}
		}
	})
	s.Cleanup(func() {
		changes.Stop()
		work.Wait()
	})
	return h
}

func (h *herd) size(app string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, of := range h.seen {
		if of == app {
			n++
		}
	}
	return n
}
