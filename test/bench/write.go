// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"
)

// WritePrefix begins the name of every figure about CREATE and UPDATE through an API server.
const WritePrefix = "write/"

// writesPerRound is how many objects a side creates and updates in a round, one after the other.
const writesPerRound = 100

// Written is how long one request takes by who admits it, in milliseconds: Fairlead's mutating and validating
// handlers, the stock ones, two that read the review and allow it, and no webhook.
type Written struct {
	// Verb is create or update.
	Verb                      string
	Ours, Stock, Empty, Plain Summary
}

// write measures CREATE and UPDATE with each side in turn.
func (s *shelf) write(ctx context.Context, o ListOptions) ([]Written, error) {
	if err := s.convertBy(ctx, sidePlain); err != nil {
		return nil, err
	}
	times := map[string]map[string][]float64{"create": {}, "update": {}}
	for round := range o.Rounds {
		for _, side := range []string{sideFairlead, sideStock, sideEmpty, sidePlain} {
			took, err := s.writeBy(ctx, side, round)
			if err != nil {
				return nil, fmt.Errorf("write by %s: %w", side, err)
			}
			for verb, each := range took {
				times[verb][side] = append(times[verb][side], summarize(each).Median)
			}
			_, _ = fmt.Fprintf(o.Output, "writes, round %d of %d, %s: create %.2f ms, update %.2f ms\n", round+1, o.Rounds, side,
				summarize(took["create"]).Median, summarize(took["update"]).Median)
		}
	}
	var all []Written
	for _, verb := range []string{"create", "update"} {
		by := times[verb]
		all = append(all, Written{verb, summarize(by[sideFairlead]), summarize(by[sideStock]), summarize(by[sideEmpty]), summarize(by[sidePlain])})
	}
	return all, nil
}

// writeBy returns how long each request takes with the webhooks of a side.
func (s *shelf) writeBy(ctx context.Context, side string, round int) (map[string][]float64, error) {
	if err := s.admitBy(ctx, side); err != nil {
		return nil, err
	}
	obj, err := load("v1.2KB")
	if err != nil {
		return nil, err
	}
	obj.SetNamespace("default")
	took := map[string][]float64{}
	for i := range writesPerRound {
		obj.SetName(fmt.Sprintf("written-%s-%d-%d", side, round, i))
		obj.SetLabels(nil)
		began := time.Now()
		if err := s.send(ctx, http.MethodPost, objects("v1"), "application/json", encode(obj.Object), io.Discard); err != nil {
			return nil, err
		}
		created := time.Now()
		update := []byte(`{"metadata":{"labels":{"written":"twice"}},"spec":{"ports":[{"name":"postgres","port":5433}]}}`)
		if err := s.send(ctx, http.MethodPatch, objects("v1")+"/"+obj.GetName(), "application/merge-patch+json", update, io.Discard); err != nil {
			return nil, err
		}
		took["create"] = append(took["create"], float64(created.Sub(began).Microseconds())/1e3)
		took["update"] = append(took["update"], float64(time.Since(created).Microseconds())/1e3)
	}
	return took, nil
}

const registrations = "/apis/admissionregistration.k8s.io/v1"

// admitBy replaces the webhooks of all sides by those of one, and waits until they are called.
func (s *shelf) admitBy(ctx context.Context, side string) error {
	for _, kind := range []string{"mutating", "validating"} {
		path := fmt.Sprintf("%s/%swebhookconfigurations", registrations, kind)
		err := s.send(ctx, http.MethodDelete, path+"/bench", "", nil, io.Discard)
		if err != nil && !strings.Contains(err.Error(), "404") {
			return err
		}
		if side == sidePlain {
			continue
		}
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw})
		configuration := encode(map[string]any{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": strings.ToUpper(kind[:1]) + kind[1:] + "WebhookConfiguration",
			"metadata": map[string]any{"name": "bench"},
			"webhooks": []any{map[string]any{
				"name": kind + ".bench.fairlead.dev", "admissionReviewVersions": []string{"v1"}, "sideEffects": "None",
				"clientConfig": map[string]any{"url": s.server.URL + "/" + side + "/" + kind, "caBundle": ca},
				"rules": []any{map[string]any{
					"apiGroups": []string{"networking.fairlead.dev"}, "apiVersions": []string{"v1"},
					"operations": []string{"CREATE", "UPDATE"}, "resources": []string{"externalservices"},
				}},
			}},
		})
		if err := s.send(ctx, http.MethodPost, path, "application/json", configuration, io.Discard); err != nil {
			return err
		}
	}
	return s.admitted(ctx, side)
}

// admitted waits until a write calls the webhooks of a side, and those only.
func (s *shelf) admitted(ctx context.Context, side string) error {
	obj, err := load("v1.2KB")
	if err != nil {
		return err
	}
	obj.SetName("probe")
	obj.SetNamespace("default")
	body, quiet := encode(obj.Object), 0
	return poll(ctx, func() (bool, error) {
		before := s.admissions()
		if err := s.send(ctx, http.MethodPost, objects("v1")+"?dryRun=All", "application/json", body, io.Discard); err != nil {
			return false, err
		}
		right := true
		for of, n := range s.admissions() {
			wanted := int64(0)
			if of == side {
				wanted = 2
			}
			right = right && n-before[of] == wanted
		}
		if quiet++; !right {
			quiet = 0
		}
		return quiet >= 3, nil
	})
}

// admissions are the calls of each side's webhooks.
func (s *shelf) admissions() map[string]int64 {
	calls := map[string]int64{}
	for side, n := range s.admitting {
		calls[side] = n.Load()
	}
	return calls
}

// Entries are the figures for bench.json. Their peer is a request without webhooks.
func (w Written) Entries() []Entry {
	entry := func(name string, of Summary) Entry {
		return Entry{Name: WritePrefix + name, Unit: "ms", Value: rounded(of.Median, 2), Peer: rounded(w.Plain.Median, 2), Ratio: rounded(quotient(w.Plain.Median, of.Median), 2)}
	}
	return []Entry{entry(w.Verb, w.Ours), entry(w.Verb+"-stock", w.Stock), entry(w.Verb+"-empty", w.Empty)}
}

// WriteWrites writes the results for a reader.
func WriteWrites(w io.Writer, results []Written) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, err := fmt.Fprint(t, "One request through a real API server by one client, the median in ms; how many times as long as without webhooks:\n\n",
		"request\twithout\tfairlead\t\tstock\t\tempty handlers\t\t\n")
	for _, r := range results {
		_, failed := fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%.2fx\t%.2f\t%.2fx\t%.2f\t%.2fx\t\n", r.Verb, r.Plain.Median,
			r.Ours.Median, quotient(r.Ours.Median, r.Plain.Median), r.Stock.Median, quotient(r.Stock.Median, r.Plain.Median),
			r.Empty.Median, quotient(r.Empty.Median, r.Plain.Median))
		err = errors.Join(err, failed)
	}
	return errors.Join(err, t.Flush())
}
