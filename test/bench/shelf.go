// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/config/crd"
	"github.com/fairlead-dev/fairlead/test/cluster"
)

// Who converts and admits: no webhook, Fairlead, controller-runtime's stock handlers, or one that does as little as an
// API server accepts.
const (
	sidePlain    = "plain"
	sideFairlead = "fairlead"
	sideStock    = "stock"
	sideEmpty    = "empty"
)

const (
	definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	definition  = "externalservices.networking.fairlead.dev"
	namespaced  = "/namespaces/default/externalservices"
	creators    = 16
)

// shelf is a control plane whose ExternalServices are converted and admitted by either side.
type shelf struct {
	cluster *cluster.Cluster
	server  *httptest.Server
	// calls are conversions by side, and admitting admissions.
	calls, admitting map[string]*atomic.Int64
	client           *http.Client
	url              string
	filled           int
}

func openShelf(ctx context.Context, o ListOptions) (s *shelf, err error) {
	s = &shelf{calls: map[string]*atomic.Int64{}, admitting: map[string]*atomic.Int64{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	ours := fairlead()
	theirs, err := stock()
	if err != nil {
		return s, err
	}
	handlers := http.NewServeMux()
	serve := func(path string, calls *atomic.Int64, handler http.Handler) {
		handlers.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			handler.ServeHTTP(w, r)
		})
	}
	least := side{convert: http.HandlerFunc(echo), mutate: http.HandlerFunc(allow), validate: http.HandlerFunc(allow)}
	for name, side := range map[string]side{sideFairlead: ours, sideStock: theirs, sideEmpty: least} {
		s.calls[name], s.admitting[name] = new(atomic.Int64), new(atomic.Int64)
		serve("/"+name, s.calls[name], side.convert)
		serve("/"+name+"/mutating", s.admitting[name], side.mutate)
		serve("/"+name+"/validating", s.admitting[name], side.validate)
	}
	s.server = httptest.NewTLSServer(handlers) // on the loopback device
	s.cluster, err = cluster.Start(ctx, cluster.Options{Build: cluster.BuildOptions{Root: o.Root}, WithoutControllerManager: true, Output: o.Output})
	if err != nil {
		return s, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.cluster.Kubeconfig())
	if err != nil {
		return s, err
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	s.url = s.cluster.URL()
	if s.client, err = rest.HTTPClientFor(config); err != nil {
		return s, err
	}
	return s, s.define(ctx)
}

func (s *shelf) close() error {
	if s.cluster == nil {
		s.server.Close()
		return nil
	}
	err := s.cluster.Stop()
	s.server.Close()
	return err
}

// send makes a request, and returns the body of the answer where it is wanted.
func (s *shelf) send(ctx context.Context, method, path, contentType string, body []byte, answer io.Writer) error {
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1024)) // as much of the reason as there is
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text)
	}
	_, err = io.Copy(answer, response.Body)
	return err
}

// define installs the CRD, and waits until objects can be listed.
func (s *shelf) define(ctx context.Context) error {
	text, err := crd.Definition(kind.Group, "externalservices")
	if err != nil {
		return err
	}
	if text, err = yaml.YAMLToJSON(text); err != nil {
		return err
	}
	if err := s.send(ctx, http.MethodPost, definitions, "application/json", text, io.Discard); err != nil {
		return err
	}
	return poll(ctx, func() (bool, error) {
		return s.send(ctx, http.MethodGet, objects("v1"), "", nil, io.Discard) == nil, nil
	})
}

func objects(version string) string { return "/apis/" + kind.Group + "/" + version + namespaced }

// fill stores objects until there are so many.
func (s *shelf) fill(ctx context.Context, size int) error {
	obj, err := load("v1.2KB")
	if err != nil {
		return err
	}
	obj.SetNamespace("default")
	if err := s.convertBy(ctx, sidePlain); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for ; s.filled < size; s.filled++ {
		one := obj.DeepCopy()
		one.SetName(fmt.Sprintf("listed-%d", s.filled))
		body := encode(one.Object)
		group.Go(func() error { return s.send(ctx, http.MethodPost, objects("v1"), "application/json", body, io.Discard) })
	}
	return group.Wait()
}

// convertBy changes who converts.
func (s *shelf) convertBy(ctx context.Context, side string) error {
	conversion := map[string]any{"strategy": "None", "webhook": nil}
	if side != sidePlain {
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw})
		conversion = map[string]any{"strategy": "Webhook", "webhook": map[string]any{
			"conversionReviewVersions": []string{"v1"},
			"clientConfig":             map[string]any{"url": s.server.URL + "/" + side, "caBundle": ca},
		}}
	}
	patch := encode(map[string]any{"spec": map[string]any{"conversion": conversion}})
	return s.send(ctx, http.MethodPatch, definitions+"/"+definition, "application/merge-patch+json", patch, io.Discard)
}

// list changes who converts, by which the API server forgets every object of the kind, and returns how
// long it takes from the first request after that until all objects have been listed.
func (s *shelf) list(ctx context.Context, side string, size int) (took time.Duration, calls int64, err error) {
	counted := s.calls[side]
	if counted == nil {
		counted = new(atomic.Int64)
	}
	before := counted.Load()
	if err := s.convertBy(ctx, side); err != nil {
		return 0, 0, err
	}
	var start time.Time
	err = poll(ctx, func() (bool, error) {
		start = time.Now()
		var one bytes.Buffer
		if err := s.send(ctx, http.MethodGet, objects("v1alpha1")+"/listed-0", "", nil, &one); err != nil {
			return false, err
		}
		if side == sidePlain {
			return !bytes.Contains(one.Bytes(), []byte(`"hosts"`)), nil // which only a conversion makes
		}
		if side == sideEmpty && bytes.Contains(one.Bytes(), []byte(`"hosts"`)) {
			return false, nil
		}
		return counted.Load() > before, nil
	})
	if err != nil {
		return 0, 0, err
	}
	version := "v1alpha1"
	if side == sidePlain {
		version = "v1"
	}
	var found counter
	err = poll(ctx, func() (bool, error) {
		found = counter{}
		// Too many requests is an API server that is still reading.
		return s.send(ctx, http.MethodGet, objects(version), "", nil, &found) == nil, nil
	})
	took = time.Since(start)
	if got := int(found.n); err == nil && got < size {
		err = fmt.Errorf("%d of %d objects were listed", got, size)
	}
	return took, counted.Load() - before, err
}

// counter counts the names of the objects that are written to it.
type counter struct {
	n    int64
	rest []byte
}

var listedName = []byte(`"name":"listed-`)

func (c *counter) Write(text []byte) (int, error) {
	all := append(c.rest, text...)
	c.n += int64(bytes.Count(all, listedName))
	keep := min(len(all), len(listedName)-1)
	c.rest = append([]byte(nil), all[len(all)-keep:]...)
	return len(text), nil
}

// poll asks every ten milliseconds.
func poll(ctx context.Context, ask func() (bool, error)) error {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		if done, err := ask(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}
