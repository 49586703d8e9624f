import com.alibaba.fastjson2.JSON;
import com.alibaba.fastjson2.JSONObject;
import com.alibaba.fastjson2.JSONWriter;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** A stock client of a cluster, asked by one line of JSON at a time; it answers with one line each. */
public final class Client {
    private static final int PAGE = 32;
    private static final int MOST_FOUND = 10_000;
    private static final long WAIT_MS = 60_000;
    private static final HexFormat HEX = HexFormat.of();

    private final DefaultMQPullConsumer consumer = new DefaultMQPullConsumer("interop_consumer");
    private final DefaultMQProducer producer = new DefaultMQProducer("interop_producer");
    private final String broker;

    private Client(String nameServer, String broker) throws MQClientException {
        this.broker = broker;
        consumer.setNamesrvAddr(nameServer);
        producer.setNamesrvAddr(nameServer);
        consumer.start();
        producer.start();
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err); // whatever else prints must not be taken for an answer
        BufferedReader questions =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Client client = new Client(args[0], args[1]);
        for (String line; (line = questions.readLine()) != null; ) {
            try {
                Object answer = client.answer(JSON.parseObject(line));
                answers.println(JSON.toJSONString(Map.of("ok", new Object[] {answer}), JSONWriter.Feature.WriteNulls));
            } catch (Throwable problem) {
                StringWriter trace = new StringWriter();
                problem.printStackTrace(new PrintWriter(trace));
                answers.println(JSON.toJSONString(Map.of("error", trace.toString())));
            }
        }
        Runtime.getRuntime().halt(0); // nobody is left to answer to
    }

    private Object answer(JSONObject q) throws Exception {
        switch (q.getString("op")) {
            case "route": return route(q.getString("topic"));
            case "read": return read(queue(q), q.getLongValue("end"));
            case "key": return byKey(q.getString("topic"), q.getString("key"));
            case "id": return position(consumer.viewMessage(q.getString("topic"), q.getString("id")));
            case "uniqueKey": return position(consumer.getDefaultMQPullConsumerImpl()
                .queryMessageByUniqKey(q.getString("topic"), q.getString("uniqueKey")));
            case "time": return consumer.searchOffset(queue(q), q.getLongValue("time"));
            case "send": return send(q);
            default: throw new IllegalArgumentException(q.toString());
        }
    }

    private MessageQueue queue(JSONObject q) {
        return new MessageQueue(q.getString("topic"), broker, q.getIntValue("queueId"));
    }

    /** Waits until the broker has registered: until then there is no route. */
    private Object route(String topic) throws Exception {
        for (long until = System.currentTimeMillis() + WAIT_MS; ; Thread.sleep(20)) {
            try {
                return consumer.fetchSubscribeMessageQueues(topic).size();
            } catch (MQClientException notYet) {
                if (System.currentTimeMillis() > until) throw notYet;
            }
        }
    }

    /** Every message, once the broker has built the queue up to `end`. */
    private Object read(MessageQueue queue, long end) throws Exception {
        long max = consumer.maxOffset(queue);
        for (long until = System.currentTimeMillis() + WAIT_MS; max < end; Thread.sleep(20)) {
            if (System.currentTimeMillis() > until) break; // what is missing shows in the answer
            max = consumer.maxOffset(queue);
        }
        List<Object> answers = new ArrayList<>();
        for (long at = consumer.minOffset(queue); at < max; ) {
            PullResult page = consumer.pull(queue, "*", at, PAGE);
            if (page.getMsgFoundList() != null) {
                for (MessageExt message : page.getMsgFoundList()) answers.add(described(message));
            }
            if (page.getNextBeginOffset() <= at) throw new IllegalStateException(queue + " at " + at + ": " + page);
            at = page.getNextBeginOffset();
        }
        return answers;
    }

    private Object byKey(String topic, String key) throws Exception {
        TreeSet<Long> found = new TreeSet<>(); // a key that a message has twice finds it twice
        try {
            for (MessageExt one : consumer.queryMessage(topic, key, MOST_FOUND, 0, Long.MAX_VALUE).getMessageList()) {
                found.add(one.getCommitLogOffset());
            }
        } catch (MQClientException problem) {
            if (problem.getResponseCode() != 208) throw problem; // NO_MESSAGE
        }
        return found;
    }

    private static Object position(MessageExt message) {
        return message == null ? null : message.getCommitLogOffset();
    }

    private Object send(JSONObject q) throws Exception {
        Message message = new Message(q.getString("topic"), q.getString("tags"), q.getString("keys"),
            HEX.parseHex(q.getString("body")));
        if (!q.getString("light").isEmpty()) {
            MessageAccessor.putProperty(message, MessageConst.PROPERTY_INNER_MULTI_DISPATCH, q.getString("light"));
        }
        SendResult result = producer.send(message, queue(q));
        return Map.of("status", result.getSendStatus().name(), "queueOffset", result.getQueueOffset(),
            "id", result.getOffsetMsgId(), "uniqueKey", result.getMsgId());
    }

    /** Without what the client adds to the properties. */
    private static Object described(MessageExt message) {
        Map<String, String> properties = new TreeMap<>(message.getProperties());
        properties.remove(MessageConst.PROPERTY_MIN_OFFSET);
        properties.remove(MessageConst.PROPERTY_MAX_OFFSET);
        properties.remove(MessageConst.PROPERTY_CRC32);
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("topic", message.getTopic());
        answer.put("queueId", message.getQueueId());
        answer.put("queueOffset", message.getQueueOffset());
        answer.put("physicalOffset", message.getCommitLogOffset());
        answer.put("size", message.getStoreSize());
        answer.put("flag", message.getFlag());
        answer.put("bornTimestamp", message.getBornTimestamp());
        answer.put("storeTimestamp", message.getStoreTimestamp());
        answer.put("reconsumeTimes", message.getReconsumeTimes());
        answer.put("preparedTransactionOffset", message.getPreparedTransactionOffset());
        answer.put("body", HEX.formatHex(message.getBody() == null ? new byte[0] : message.getBody()));
        answer.put("properties", properties);
        return answer;
    }
}
