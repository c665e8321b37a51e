// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// herd knows every pod that there ever was.
type herd struct {
	mu   sync.Mutex
	seen map[types.UID]bool
}

// watchPods ends with the test.
func (s *scene) watchPods() *herd {
	s.Helper()
	h := &herd{seen: map[types.UID]bool{}}
	changes, err := s.client.Watch(s.Context(), &corev1.PodList{}, client.InNamespace(s.namespace))
	s.must(err)
	var work sync.WaitGroup
	work.Go(func() {
		for change := range changes.ResultChan() {
			if pod, ok := change.Object.(*corev1.Pod); ok {
				h.mu.Lock()
				h.seen[pod.UID] = true
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

func (h *herd) size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.seen)
}
